import { StoreError } from "../../lib/errors.js";
import { nextTurn } from "../../lib/scheduling.js";
import type { Db } from "./db.js";

/** Why a record cannot be deleted: which other records refer to it. */

/** Tables whose records others may refer to without being deleted with them. */
type Referred = "product" | "device" | "data_point" | "data_stream" | "cert" | "contact_point";

interface Reference {
  /** Table of the referring records. */
  readonly table: string;
  /** SQL: the name of the list that such a record is in, as in its path. */
  readonly list: string;
  /** SQL: the name of the record. */
  readonly name: string;
  /** Condition on `r` with one `?` for the record referred to; an index ending in the id serves it. */
  readonly where: string;
}

const quoted = (column: string) => `'"' || ${column} || '"'`;
const deviceName = `${quoted("r.deviceName")} || ' (deviceID ' || r.deviceID || ')'`;
const anyDevice = {
  table: "device",
  list: "case r.kind when 'gateway' then 'gateways' else 'devices' end",
  name: deviceName,
} as const;
const templates = { table: "app_template", list: "'app_templates'", name: quoted("r.templateName") } as const;

const references: Readonly<Record<Referred, readonly Reference[]>> = {
  product: [
    { ...anyDevice, where: "r.productIntID = ?" },
    { table: "device_group", list: "'groups'", name: quoted("r.groupName"), where: "r.productIntID = ?" },
  ],
  device: [
    { ...anyDevice, where: "r.gateway = ?" },
    { ...anyDevice, where: "r.parentDevice = ?" },
  ],
  data_point: [
    {
      table: "data_stream",
      list: "'data_streams'",
      name: quoted("r.streamName"),
      where: "r.id in (select dataStreamIntID from stream_point where dataPointIntID = ?)",
    },
    { table: "metric", list: "'metrics'", name: quoted("r.metricName"), where: "r.dataPointIntID = ?" },
    {
      table: "product_resource",
      list: "'product_resources'",
      name: quoted("r.codeValue"),
      where: "r.dataPointIntID = ?",
    },
    { ...templates, where: "r.dataPointIntID = ?" },
    { ...templates, where: "r.id in (select templateIntID from template_default where dataPointIntID = ?)" },
    {
      table: "alert_rule",
      list: "'alert_rules'",
      name: quoted("r.alertName"),
      where: "r.dataPointIntID = ?",
    },
  ],
  data_stream: [{ ...templates, where: "r.dataStreamIntID = ?" }],
  cert: [{ ...anyDevice, where: "r.id in (select deviceIntID from cert_device where certIntID = ?)" }],
  contact_point: [
    {
      table: "alert_route",
      list: "'alert_routes'",
      name: quoted("r.name"),
      where: "r.id in (select routeIntID from route_contact where contactPointIntID = ?)",
    },
  ],
};

const nouns: Readonly<Record<Referred, string>> = {
  product: "product",
  device: "device",
  data_point: "data point",
  data_stream: "data stream",
  cert: "certificate",
  contact_point: "contact point",
};

/** How many referring records are named, and how far they are counted. */
const referrersNamed = 10;
const referrersCounted = 100_000;
/** Rows of one step, so that counting does not hold the loop. */
const rowsPerStep = 1000;

/** Record ids that one deletion removes, by table. */
type Going = Partial<Readonly<Record<Referred, readonly number[]>>>;

/**
 * Runs a deletion, all or nothing.
 * @throws StoreError REFERENCED that names the first records that still refer to a deleted one, and how many each list
 * has
 */
export async function deleting(db: Db, going: Going, remove: () => Promise<unknown>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (error instanceof StoreError && error.code === "REFERENCED") throw await explained(db, going, error);
    throw error;
  }
}

interface Referrer {
  readonly table: string;
  readonly id: number;
  readonly list: string;
}

async function explained(db: Db, going: Going, cause: StoreError): Promise<StoreError> {
  const found = await findReferrers(db, going);
  const what = await describe(db, going);
  if (found.length === 0) {
    // The referring record has just been deleted.
    return new StoreError(
      "REFERENCED",
      `cannot delete ${what.text}: other records referred to ${what.it}`,
      {},
      { cause },
    );
  }
  const named = await Promise.all(
    found.slice(0, referrersNamed).map(async (one) => ({ ...one, text: await readName(db, one) })),
  );
  const fields: Record<string, string> = {};
  for (const list of new Set(found.map((one) => one.list))) {
    const count = found.filter((one) => one.list === list).length;
    const texts = named.filter((one) => one.list === list).map(({ text }) => text);
    fields[list] = referring(count, formatNoun(list), what.it, texts);
  }
  const listed = named.map(({ list, text }) => `${formatNoun(list)} ${text}`);
  const message = `cannot delete ${what.text}: ${referring(found.length, "record", what.it, listed)}`;
  return new StoreError("REFERENCED", message, fields, { cause });
}

/** How many records refer, the names of the first, and how many more there are. */
function referring(count: number, noun: string, it: string, texts: readonly string[]): string {
  const refer = count === 1 ? "refers" : "refer";
  const listed = texts.length === 0 ? "" : `: ${texts.join(", ")}`;
  const more =
    texts.length === 0 || texts.length === count
      ? ""
      : `, and ${formatCount(count - texts.length, count)} more`;
  return `${formatCount(count, count)} ${noun}${count === 1 ? "" : "s"} ${refer} to ${it}${listed}${more}`;
}

/** `n` of `count`, as far as records were counted. */
const formatCount = (n: number, count: number): string =>
  count >= referrersCounted ? `at least ${n}` : String(n);

/** `product_resources` → `product resource`. */
const formatNoun = (list: string): string => list.replace("_", " ").replace(/s$/, "");

/** The records to be deleted as text, and the pronoun for them. */
async function describe(db: Db, going: Going): Promise<{ text: string; it: string }> {
  const parts: string[] = [];
  let count = 0;
  for (const table of Object.keys(nouns) as Referred[]) {
    const ids = going[table] ?? [];
    if (ids.length === 0) continue;
    count += ids.length;
    const noun = table === "device" ? await deviceNoun(db, ids) : nouns[table];
    parts.push(ids.length === 1 ? `${noun} ${ids[0]}` : `${ids.length} ${noun}s`);
  }
  return { text: parts.join(" and "), it: count === 1 ? "it" : "them" };
}

/** Gateways are devices with a noun of their own, unless other devices are deleted with them. */
async function deviceNoun(db: Db, ids: readonly number[]): Promise<string> {
  const kinds = await db.all<{ kind: string }>(
    "select distinct kind from device where id in (select value from json_each(?))",
    [ids],
  );
  return kinds.length === 1 && kinds[0]?.kind === "gateway" ? "gateway" : "device";
}

/** The referring records, each once, without those that are deleted themselves. */
async function findReferrers(db: Db, going: Going): Promise<Referrer[]> {
  const leaving = new Set(Object.entries(going).flatMap(([table, ids]) => ids.map((id) => `${table} ${id}`)));
  const found = new Map<string, Referrer>();
  for (const [table, ids] of Object.entries(going) as [Referred, readonly number[]][]) {
    for (const reference of references[table]) {
      for (const id of ids) {
        for await (const one of rowsOf(db, reference, id)) {
          const key = `${one.table} ${one.id}`;
          if (!leaving.has(key)) found.set(key, one);
          if (found.size >= referrersCounted) return [...found.values()];
        }
      }
    }
  }
  return [...found.values()];
}

async function* rowsOf(
  db: Db,
  { table, list, where }: Reference,
  referred: number,
): AsyncGenerator<Referrer> {
  for (let after = 0; ; ) {
    const rows = await db.all<{ id: number; list: string }>(
      `select r.id, ${list} list from ${table} r where ${where} and r.id > ? order by r.id limit ?`,
      [referred, after, rowsPerStep],
    );
    for (const row of rows) yield { table, ...row };
    // The client's calls are synchronous: awaiting them alone does not let other work run.
    await nextTurn();
    if (rows.length < rowsPerStep) return;
    after = rows.at(-1)?.id ?? 0;
  }
}

const namesByTable = new Map(
  Object.values(references).flatMap((all) => all.map(({ table, name }) => [table, name])),
);

async function readName(db: Db, { table, id }: Referrer): Promise<string> {
  const row = await db.first<{ name: string }>(
    `select ${namesByTable.get(table) ?? "r.id"} name from ${table} r where r.id = ?`,
    [id],
  );
  return row === undefined ? String(id) : `${id} ${row.name}`;
}

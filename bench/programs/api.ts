import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type Client, createClient, type InStatement } from "@libsql/client";
import { type BareHono, startBareHono } from "../baselines/bare-hono.js";
import { type Api, createApi } from "../load/api-client.js";
import { provision, writeCredentials } from "../load/fleet.js";
import { startGenerator } from "../load/generator.js";
import { percentileOf } from "../load/histogram.js";
import { timed, warmUp } from "../load/timing.js";
import { startViewers } from "../load/viewers.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { fillRegistry, type Registry } from "../subjects/registry.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

/** One kind of request: what is asked, and the least that a store must do for it. */
interface Question {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT";
  path(call: number): string;
  body?(call: number): object;
  /** The same SQL, reduced to one table. */
  statement(call: number): InStatement;
}

interface Subjects {
  readonly service: Tidemark;
  readonly registry: Registry;
  readonly hono: BareHono;
  readonly bareApi: Api;
  readonly table: Client;
}

const clientsInParallel = 8;

/**
 * Lists, details, creates and edits of devices among as many as `--devices` says, over HTTP; against a Hono handler
 * that answers the same bytes, and the bare statement.
 */
export async function benchApi(options: BenchOptions): Promise<Figure[]> {
  const subjects = await open(options);
  const figures: Figure[] = [];
  try {
    for (const question of await questionsAbout(subjects)) {
      if (!wants(options, question.name.replaceAll(" ", "-"))) continue;
      progress(`api: ${question.name}`);
      figures.push(...(await measure(subjects, question, options.calls)));
    }
    if (wants(options, "neighbour")) {
      progress("api: what a device feels");
      figures.push(...(await neighbour(subjects, options)));
    }
  } finally {
    await close(subjects);
  }
  return figures;
}

async function open(options: BenchOptions): Promise<Subjects> {
  const devices = Math.max(...options.devices);
  progress(`api: making ${devices} devices`);
  const copy = join(options.dir, `${randomUUID()}.db`);
  const service = await startTidemark({ dir: options.dir });
  let registry: Registry | undefined;
  await service.restart(async (dataDir) => {
    registry = await fillRegistry(dataDir, devices, copy);
  });
  if (registry === undefined) throw new Error("cannot measure the API: there are no devices");
  const table = createClient({ url: `file:${copy}`, concurrency: 1 });
  await table.execute("pragma synchronous = full");
  const hono = await startBareHono();
  return { service, registry, hono, table, bareApi: createApi(hono.http, {}) };
}

async function close({ service, hono, bareApi, table }: Subjects): Promise<void> {
  bareApi.close();
  table.close();
  await hono.close();
  await service.close();
}

const devices = "/api/v1/devices";
const rows = "select * from device where tenant = 1 and kind = 'device'";
const like = "instr(lower(deviceName), lower(?)) > 0";

async function questionsAbout({ service, registry }: Subjects): Promise<Question[]> {
  const count = registry.lastID - registry.firstID + 1;
  const idOf = (call: number) => registry.firstID + ((call * 7919) % count);
  const { items } = await service.api().get<{ items: readonly { id: number }[] }>(`${devices}?_limit=1000`);
  const edited = (call: number) => ({ ...items[call % items.length], description: `edited ${call}` });
  const productID = registry.products[0]?.productID ?? "";
  const list = (name: string, query: (call: number) => string, sql: string, args: string[]): Question => ({
    name,
    method: "GET",
    path: (call) => `${devices}?${query(call)}`,
    statement: () => ({ sql: `${rows} ${sql}`, args }),
  });
  const newest = "order by id desc limit 10";
  const lastPage = Math.max(1, Math.min(5_000, Math.floor(count / 10)));
  return [
    list("list", () => "", newest, []),
    list(`page ${lastPage}`, () => `_page=${lastPage}`, `${newest} offset ${(lastPage - 1) * 10}`, []),
    list("list like few", () => "deviceName_like=00042", `and ${like} ${newest}`, ["00042"]),
    list("list like many", () => "deviceName_like=station", `and ${like} ${newest}`, ["station"]),
    list("list like none", () => "deviceName_like=nowhere", `and ${like} ${newest}`, ["nowhere"]),
    {
      name: "list of products",
      method: "GET",
      path: () => "/api/v1/products",
      statement: () => "select * from product where tenant = 1 order by id desc limit 10",
    },
    list("list of a product", () => `productID=${productID}`, `and productIntID = 1 ${newest}`, []),
    {
      name: "detail",
      method: "GET",
      path: (call) => `${devices}/${idOf(call)}`,
      statement: (call) => ({ sql: "select * from device where id = ?", args: [idOf(call)] }),
    },
    {
      name: "create",
      method: "POST",
      path: () => devices,
      body: (call) => newDevice(productID, `new-${call}`),
      statement: (call) => ({
        sql: `insert into device (tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
          values (1, ?1, ?1, ?1, x'', 1, 0)`,
        args: [`bare-${call}`],
      }),
    },
    {
      name: "edit",
      method: "PUT",
      path: (call) => `${devices}/${items[call % items.length]?.id}`,
      body: edited,
      statement: (call) => ({
        sql: "update device set description = ?, updateAt = 1 where id = ?",
        args: [`edited ${call}`, items[call % items.length]?.id ?? 0],
      }),
    },
  ];
}

function newDevice(productID: string, name: string) {
  return {
    productID,
    deviceName: name,
    deviceID: name,
    deviceType: 1,
    upLinkSystem: 1,
    cloudProtocol: 1,
    authType: 1,
    manufacturer: "Lake Instruments",
    description: "Water level and temperature at the outlet, read every minute",
  };
}

/** One client that asks all three in turn, then several at once that ask the service, then the bare handler. */
async function measure(subjects: Subjects, question: Question, calls: number): Promise<Figure[]> {
  const { service, hono, bareApi, table } = subjects;
  let asked = 0;
  const askService = () => ask(service.api(), question, question.path(asked), asked++);
  const askBare = () => ask(bareApi, question, `/${nameOf(question)}`, asked++);
  await hono.answer({ name: nameOf(question), ...(await askService()) });
  await warmUp(async () => {
    await askBare();
    await table.execute(question.statement(asked++));
    await askService();
  });
  const times = { hono: [] as number[], statement: [] as number[], service: [] as number[] };
  await loopDelayMs(service);
  for (let call = 0; call < calls; call++) {
    times.hono.push(await timed(askBare));
    times.statement.push(await timed(() => table.execute(question.statement(asked++))));
    times.service.push(await timed(askService));
  }
  const delayMs = await loopDelayMs(service);
  const together = { hono: await inParallel(calls, askBare), service: await inParallel(calls, askService) };
  return figuresOf(question.name, times, together, delayMs);
}

const nameOf = (question: Question) => question.name.replaceAll(" ", "-");

async function ask(api: Api, question: Question, path: string, call: number) {
  const answer = await api.call(question.method, path, question.body?.(call));
  if (answer.status < 300) return answer;
  throw new Error(`cannot ${question.name}: ${answer.status} ${answer.text.slice(0, 300)}`);
}

interface Together {
  readonly times: readonly number[];
  readonly perSecond: number;
}

async function inParallel(calls: number, action: () => Promise<unknown>): Promise<Together> {
  const times: number[] = [];
  const started = performance.now();
  let left = calls;
  const client = async (): Promise<void> => {
    while (left-- > 0) times.push(await timed(action));
  };
  await Promise.all(Array.from({ length: clientsInParallel }, client));
  return { times, perSecond: (calls * 1000) / (performance.now() - started) };
}

/** The longest that the loop was held since the last reading, as the service says. */
async function loopDelayMs(service: Tidemark): Promise<number> {
  return (await service.metric("tidemark_event_loop_delay_seconds", 'quantile="0.999"')) * 1000;
}

const listers = { count: clientsInParallel, everyMs: 80 } as const;
const neighbours = { connections: 50, inflight: 1 } as const;
const neighbourRate = 1_000;

/** PUBACKs of devices that send at a steady rate, without and beside eight clients that ask for lists at another. */
async function neighbour({ service }: Subjects, { dir, seconds }: BenchOptions): Promise<Figure[]> {
  const fleet = await provision(service.api(), neighbours.connections);
  const credentialsFile = await writeCredentials(dir, fleet.devices);
  const generator = await startGenerator({ port: service.mqttPort(), credentialsFile, ...neighbours });
  const load = { seconds: seconds * 2, ratePerSecond: neighbourRate };
  await generator.round(load);
  const alone = await generator.round(load);
  const viewers = startViewers(service.api(), [devices], listers);
  const beside = await generator.round(load);
  const answers = await viewers.stop();
  await generator.close();
  const name = `PUBACK at ${neighbourRate} messages a second`;
  return [
    { name, value: alone.p99, unit: "ms p99", detail: { "p50 ms": alone.p50, "max ms": alone.max } },
    {
      name: `${name} beside ${listers.count} clients' lists`,
      value: beside.p99,
      unit: "ms p99",
      baseline: name,
      detail: {
        "p50 ms": beside.p50,
        "max ms": beside.max,
        ...answers.detail,
        "lists p99 ms": answers.value,
      },
    },
  ];
}

interface Times {
  readonly hono: readonly number[];
  readonly statement: readonly number[];
  readonly service: readonly number[];
}

function figuresOf(
  name: string,
  { hono, statement, service }: Times,
  together: { readonly hono: Together; readonly service: Together },
  delayMs: number,
): Figure[] {
  const p50 = (times: readonly number[]) => percentileOf(times, 0.5);
  const p99 = (times: readonly number[]) => percentileOf(times, 0.99);
  const bareName = `${name}, bare`;
  const togetherName = `${name}, bare Hono, ${clientsInParallel} at once`;
  return [
    {
      name: bareName,
      value: p50(hono) + p50(statement),
      unit: "ms p50",
      detail: {
        "Hono ms": p50(hono),
        "statement ms": p50(statement),
        "p99 ms": p99(hono) + p99(statement),
      },
    },
    {
      name: `${name}, tidemark`,
      value: p50(service),
      unit: "ms p50",
      baseline: bareName,
      detail: { "p99 ms": p99(service), "loop held ms": delayMs },
    },
    {
      name: togetherName,
      value: together.hono.perSecond,
      unit: "calls/s",
      detail: { "p99 ms": p99(together.hono.times) },
    },
    {
      name: `${name}, tidemark, ${clientsInParallel} at once`,
      value: together.service.perSecond,
      unit: "calls/s",
      baseline: togetherName,
      detail: { "p50 ms": p50(together.service.times), "p99 ms": p99(together.service.times) },
    },
  ];
}

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openDb } from "../../store/db.js";
import { bytesOf, createPageBudget, withinPage } from "../../store/page-bytes.js";
import { assert, suite, withTempDir } from "../suite.js";

/** Columns of lists whose values may be longer than 2,048 characters. */
const long = [
  ...["description", "remark", "detail", "enum", "payload", "places"],
  ...["alertContent", "alertDetail", "location", "lora", "metaData", "scopes"],
];
/** Those whose values may not: names, codes, ids, and texts that their schemas bound. */
const short = [
  ...["alertName", "appID", "action", "cause", "CN", "codeValue", "condition", "createUser", "crontab"],
  ...["dataPointID", "dataPointName", "deviceConsoleIP", "deviceConsoleUsername", "deviceID", "deviceName"],
  ...[
    "deviceUsername",
    "entity",
    "expressions",
    "faultValue",
    "field",
    "fingerprint",
    "groupID",
    "groupName",
  ],
  ...["hardwareVersion", "IMEI", "IMSI", "itemName", "itemOperations", "kind", "mac", "manufacturer"],
  ...[
    "metricName",
    "name",
    "productID",
    "productName",
    "publishUser",
    "registerAddr",
    "role",
    "scheduleName",
  ],
  ...["secretHash", "serialNumber", "softVersion", "streamName", "task", "templateName", "tenantID"],
  ...["tenantName", "token", "topic", "unitName", "unitSymbol", "username", "clientIP", "passwordHash"],
];
/** Tables that no list shows: their columns are nobody's page. */
const unlisted = new Set([
  ...["authority", "authority_root", "checkpoint", "departed_device", "device_ingest", "field_generation"],
  ...["influx_bucket", "influx_conflict", "quarantine", "removal", "session", "sqlite_sequence", "task"],
  ...["template_default"],
]);
/** Columns of listed tables that their lists leave out. */
const left = new Set(["cert.cert", "cert.key", "cert.root"]);

suite("bytes of a page", (test) => {
  test("a page holds rows up to its bytes, at least one, and none behind the first that does not fit", () => {
    const page = createPageBudget(100);
    assert.equal(
      [150, 1, 1].map((bytes) => page.fits(bytes)),
      [true, false, false],
    );
    const small = createPageBudget(100);
    assert.equal(
      [50, 50, 1, 0].map((bytes) => small.fits(bytes)),
      [true, true, false, false],
    );
    assert.is(small.full, true);
  });

  test("rows are measured before they are read, in the order asked", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      await db.write([{ sql: "create table log (id integer primary key, payload blob, note text)" }]);
      await db.write(
        Array.from({ length: 30 }, (_, i) => ({
          sql: "insert into log (id, payload, note) values (?, zeroblob(?), ?)",
          args: [i + 1, 500_000, i === 3 ? "é".repeat(250_000) : null],
        })),
      );
      const ids = Array.from({ length: 30 }, (_, i) => 30 - i);
      const measured = { from: "log r", bytes: bytesOf("r.payload", "r.note") };
      assert.equal(await withinPage(db, measured, ids), ids.slice(0, 16), "16 of 500,000 are 8 MB");
      const upward = [...ids].reverse();
      assert.equal(await withinPage(db, measured, upward), upward.slice(0, 15), "one has as much again");
      assert.equal(await withinPage(db, { from: "log r" }, ids), ids, "nothing long in it");
      db.close();
    }));

  test("every text column of the schema is known as long or short, and every list with a long one measures it", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      const columns = await db.all<{ place: string; name: string }>(
        `select m.name || '.' || p.name place, p.name name from sqlite_master m, pragma_table_info(m.name) p
         where m.type = 'table' and m.name not in (select value from json_each(?)) and upper(p.type) in ('TEXT', 'BLOB', '')`,
        [JSON.stringify([...unlisted])],
      );
      db.close();
      const known = new Set([...long, ...short]);
      const unknown = columns.filter(({ place, name }) => !left.has(place) && !known.has(name));
      assert.equal(
        unknown.map(({ place }) => place),
        [],
      );
      const folder = join(import.meta.dirname, "../../../store");
      let measured = 0;
      for (const file of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
        const text = readFileSync(join(folder, file), "utf8");
        for (const [, name, listing = ""] of text.matchAll(
          /const (\w+): (?:Omit<)?(?:Bounded)?Listing\b[^=]*= (\{[\s\S]*?\n\});/g,
        )) {
          const table = /from: (?:"|`)(\w+) r\b/.exec(listing)?.[1];
          const select = /select:\s*(?:"[^"]*"|'[^']*'|`[^`]*`)/.exec(listing)?.[0] ?? "";
          const shows = (column: string) =>
            new RegExp(`\\br\\.(?:"?${column}"?)(?!\\w)`).test(select) ||
            (select.includes("r.*") && columns.some(({ place }) => place === `${table}.${column}`));
          for (const column of long.filter(shows)) {
            assert.match(listing, new RegExp(`bytes:[^,]*.*${column}`), `${file}: ${name} and ${column}`);
            measured++;
          }
        }
      }
      assert.ok(measured >= 12, `${measured} columns`);
    }));
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { insertLog, listControlLogs } from "../../../../store/metadata/commands/control-logs.js";
import { openDb } from "../../../../store/metadata/db/db.js";
import { createPageBudget, formatBytesSql, withinPage } from "../../../../store/metadata/db/page-bytes.js";
import { repositoryRoot } from "../../../repository.js";
import { assert, suite, withTempDir } from "../../../suite.js";

/** Columns of lists whose values may be longer than 2,048 characters. */
const long = [
  ...["description", "remark", "detail", "enum", "payload", "places"],
  ...["alertContent", "alertDetail", "location", "lora", "metaData", "scopes"],
  ...["settings", "bodyTemplate", "muteWindows", "comment", "allowedOrigins"],
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
  ...[
    "answer",
    "contactPointName",
    "groupBy",
    "language",
    "routeName",
    "secretNames",
    "severities",
    "status",
  ],
  ...["subjectTemplate", "timezone", "type"],
  ...["tenantName", "token", "topic", "unitName", "unitSymbol", "username", "clientIP", "passwordHash"],
  ...["tokenHash", "updateUser", "zoneRules", "messageKey"],
];
/** Tables that no list shows: their columns are nobody's page. */
const unlisted = new Set([
  ...["authority", "authority_root", "checkpoint", "departed_device", "device_ingest", "field_generation"],
  ...["influx_bucket", "influx_conflict", "quarantine", "removal", "session", "sqlite_sequence", "task"],
  ...["template_default", "device_text", "device_text_config", "device_text_data", "device_text_idx"],
  ...["alert_outbox", "notification_group", "notification_member", "notifier_lease", "route_contact"],
  ...["bulk_action", "bulk_part", "cluster_node", "journal_topic", "shard_owner"],
  ...["shard_aside", "shard_work"],
  ...["influx_server", "device_moved", "deployment", "sealing", "time_zone_version"],
]);
/** Columns of listed tables that their lists leave out. */
const left = new Set([
  ...["cert.cert", "cert.key", "cert.root"],
  ...["contact_point.secrets", "notification.message", "dashboard_revision.document"],
]);

suite("bytes of a page", (test) => {
  test("a page holds rows up to its bytes, at least one, and none after the first that does not fit", () => {
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
      const measured = { from: "log r", bytes: formatBytesSql("r.payload", "r.note") };
      assert.equal(await withinPage(db, measured, ids), ids.slice(0, 16), "16 of 500,000 are 8 MB");
      const upward = [...ids].reverse();
      assert.equal(await withinPage(db, measured, upward), upward.slice(0, 15), "one has as much again");
      assert.equal(await withinPage(db, { from: "log r" }, ids), ids, "nothing long in it");
      await db.close();
    }));

  test("logs of a group's members are measured by the payload that stands once", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      await db.write([
        {
          sql: `insert into group_control_log
              (id, tenant, groupIntID, groupID, groupName, topic, needAck, publishStatus, task, createAt, payload)
            values (1, 1, 1, 'g', 'g', 'inbox', 1, 1, 't', 0, zeroblob(200000))`,
        },
      ]);
      const actor = { tenant: 1, userIntID: null, username: null };
      const log = {
        groupLogIntID: 1,
        node: 0,
        topic: "inbox",
        payload: new Uint8Array(200_000),
        qos: 1,
        ttl: 60,
        publishStatus: 0 as const,
      };
      for (let n = 1; n <= 50; n++) await db.write([insertLog(actor, n, { ...log, deviceIntID: n })]);
      const page = { page: 1, limit: 1000, filters: [] };
      const found = await listControlLogs(db, 1, null, page, () => true);
      assert.equal([found.items.length, found.count, found.truncated], [40, 50, true]);
      assert.ok(found.items.every(({ payload }) => payload.byteLength === 200_000));
      await db.close();
    }));

  test("every text column of the schema is known as long or short, and every list with a long one measures it", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      const columns = await db.all<{ place: string; name: string }>(
        `select m.name || '.' || p.name place, p.name name from sqlite_master m, pragma_table_info(m.name) p
         where m.type = 'table' and m.name not in (select value from json_each(?)) and upper(p.type) in ('TEXT', 'BLOB', '')`,
        [JSON.stringify([...unlisted])],
      );
      await db.close();
      const known = new Set([...long, ...short]);
      const unknown = columns.filter(({ place, name }) => !left.has(place) && !known.has(name));
      assert.equal(
        unknown.map(({ place }) => place),
        [],
      );
      const folder = join(repositoryRoot(), "store");
      let measured = 0;
      for (const file of readdirSync(folder, { encoding: "utf8", recursive: true }).filter((name) =>
        name.endsWith(".ts"),
      )) {
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
            assert.match(
              listing,
              new RegExp(`bytes:(?: ${column}Bytes|[^,]*.*${column})`),
              `${file}: ${name} and ${column}`,
            );
            measured++;
          }
        }
      }
      assert.ok(measured >= 12, `${measured} columns`);
    }));
});

import { createClient } from "@libsql/client";
import { logChangedFormulas } from "../../src/service/formula-notice.js";
import { openDb } from "../../store/metadata/db/db.js";
import { migrations } from "../../store/metadata/db/migrations.js";
import { startNoticeSchema } from "../../store/metadata/db/schema-start-notice.js";
import { assert, suite, withTempDir } from "../suite.js";

/** Two products of two tenants: the first has the data points `e`, `true` and `temp`, the second only `temp`. */
const records = [
  ...[1, 2].flatMap((id) => [
    `insert into tenant (id, tenantID, tenantName, createAt) values (${id}, 't${id}', 't${id}', 1)`,
    `insert into product (id, tenant, productID, productName, cloudProtocol, createAt) values (${id}, ${id}, 'p${id}', 'p', 1, 1)`,
  ]),
  ...(
    [
      [1, 1, "temp"],
      [2, 1, "e"],
      [3, 1, "true"],
      [4, 2, "temp"],
    ] as const
  ).map(
    ([id, product, name]) =>
      `insert into data_point (id, tenant, productIntID, dataPointID, dataPointName, field, pointDataType, dataTransType, createAt)
       values (${id}, ${product}, ${product}, '${name}', '${name}', 'f${id}', 1, 1, 1)`,
  ),
  ...(
    [
      [1, 1, 1, "dataPoint ^ e"],
      [2, 1, 1, "dataPoint + 2 * pi"],
      [3, 2, 4, "e * dataPoint"],
      [4, 1, 1, "e +"],
      [5, 1, 1, null],
      [6, 1, 1, "exp(dataPoint) > 1e3"],
    ] as const
  ).map(
    ([id, product, point, formula]) =>
      `insert into metric (id, tenant, productIntID, metricName, metricType, dataPointIntID, expressions, createAt)
       values (${id}, ${product}, ${product}, 'm${id}', 1, ${point}, ${formula === null ? "null" : `'${formula}'`}, 1)`,
  ),
  `insert into alert_rule (id, tenant, productIntID, alertName, alertContent, alertSeverity, dataPointIntID, condition, createAt)
     values (7, 1, 1, 'hot', '', 1, 1, 'true and e > dataPoint', 1)`,
];

suite("formulas that mean a data point by now", (test) => {
  test("the first start after the upgrade logs each of them, the next ones nothing", () =>
    withTempDir(async (dir) => {
      const url = `file:${dir}/metadata.db`;
      const client = createClient({ url, concurrency: 1 });
      const before = migrations.slice(0, migrations.indexOf(startNoticeSchema));
      for (const sql of [...before.flat(), ...records]) await client.execute(sql);
      await client.execute("create table format (version integer not null) strict");
      await client.execute(`insert into format (version) values (${before.length})`);
      client.close();
      for (const start of [1, 2]) {
        const db = await openDb({ url, shared: false });
        const logged: unknown[] = [];
        await logChangedFormulas(db, {
          warn: (_, { kind, id, name, productID, formula, names } = {}) =>
            logged.push([kind, id, name, productID, formula, names]),
        });
        await db.close();
        const expected = [
          ["alert_rule", 7, "hot", "p1", "true and e > dataPoint", ["true", "e"]],
          ["metric", 1, "m1", "p1", "dataPoint ^ e", ["e"]],
        ];
        assert.equal(logged, start === 1 ? expected : []);
      }
    }));
});

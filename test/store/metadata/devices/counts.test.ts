/** Counts of devices that the store keeps, and pages that begin at a block of ids, against a naive list. */
import { join } from "node:path";
import fc from "fast-check";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { listRows } from "../../../../store/metadata/db/list-rows.js";
import { blockIDs } from "../../../../store/metadata/db/schema-lists.js";
import type { Listing } from "../../../../store/metadata/db/table.js";
import { devices, everyKind, gateways } from "../../../../store/metadata/devices/listing.js";
import { assert, suite, withTempDir } from "../../../suite.js";

const kinds = ["device", "gateway"] as const;
const tenants = [1, 2];
/** Two of each tenant. */
const products = [1, 2, 3, 4];
const tenantOf = (product: number) => (product <= 2 ? 1 : 2);

async function withProducts(work: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await db.write([
      ...tenants.map((id) => ({
        sql: "insert into tenant (id, tenantID, tenantName, createAt) values (?, ?, ?, 0)",
        args: [id, `t${id}`, `tenant ${id}`],
      })),
      ...products.map((id) => ({
        sql: "insert into product (id, tenant, productID, productName, cloudProtocol, createAt) values (?, ?, ?, ?, 1, 0)",
        args: [id, tenantOf(id), `p${id}`, `product ${id}`],
      })),
    ]);
    await work(db);
    await db.close();
  });
}

interface Row {
  readonly id: number;
  readonly kind: (typeof kinds)[number];
  readonly product: number;
}

const insert = ({ id, kind, product }: Row) => ({
  sql: `insert into device (id, tenant, kind, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
    values (?1, ?2, ?3, 'd' || ?1, 'd' || ?1, 'u' || ?1, x'', ?4, 0)`,
  args: [id, tenantOf(product), kind, product],
});

const lists: readonly (readonly [Listing, string, (row: Row) => boolean])[] = [
  [devices, "r.kind = 'device'", ({ kind }) => kind === "device"],
  [gateways, "r.kind = 'gateway'", ({ kind }) => kind === "gateway"],
  [everyKind, "1", () => true],
];

/** Every list of both tenants, of all and of each product, at some pages. */
async function assertLists(
  db: Db,
  model: ReadonlyMap<number, Row>,
  pages: readonly [page: number, limit: number][],
) {
  for (const [listing, scope, isIn] of lists) {
    for (const tenant of tenants) {
      for (const product of [null, ...products]) {
        const expected = [...model.values()]
          .filter(
            (row) =>
              isIn(row) && tenantOf(row.product) === tenant && (product ?? row.product) === row.product,
          )
          .map(({ id }) => id)
          .sort((a, b) => b - a);
        const filters = product === null ? [] : [{ field: "productID", like: false, value: `p${product}` }];
        for (const [page, limit] of pages) {
          const found = await listRows<Row>(db, listing, tenant, { page, limit, filters }, { sql: scope });
          assert.is(found.count, expected.length, `count of ${scope} of ${product}`);
          assert.equal(
            found.items.map(({ id }) => id),
            expected.slice((page - 1) * limit, page * limit),
          );
        }
      }
    }
  }
}

const change = fc.oneof(
  fc.record({
    act: fc.constant("add" as const),
    id: fc.integer({ min: 1, max: 4 * blockIDs }),
    kind: fc.constantFrom(...kinds),
    product: fc.constantFrom(...products),
  }),
  fc.record({ act: fc.constant("remove" as const), nth: fc.nat() }),
  fc.record({ act: fc.constant("move" as const), nth: fc.nat(), product: fc.constantFrom(...products) }),
);

suite("kept counts of devices", (test) => {
  test("whatever is added, removed and moved, every list counts what is there", () =>
    withProducts(async (db) => {
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 60 }), async (all) => {
          await db.write([{ sql: "delete from device" }]);
          const model = new Map<number, Row>();
          for (const one of all) {
            if (one.act === "add") {
              if (model.has(one.id)) continue;
              model.set(one.id, one);
              await db.write([insert(one)]);
              continue;
            }
            const row = [...model.values()][one.nth % Math.max(1, model.size)];
            if (row === undefined) continue;
            if (one.act === "remove") {
              model.delete(row.id);
              await db.write([{ sql: "delete from device where id = ?", args: [row.id] }]);
            } else {
              model.set(row.id, { ...row, product: one.product });
              const args = [one.product, tenantOf(one.product), row.id];
              await db.write([{ sql: "update device set productIntID = ?, tenant = ? where id = ?", args }]);
            }
          }
          await assertLists(db, model, [
            [1, 10],
            [2, 3],
          ]);
        }),
        { numRuns: 15 },
      );
    }));

  test("pages far down begin at the block that holds them", () =>
    withProducts(async (db) => {
      const model = new Map<number, Row>();
      for (let id = 1; id <= 5 * blockIDs; id += 1 + (id % 3)) {
        // One block is left without devices, another without gateways.
        const block = Math.floor(id / blockIDs);
        if (block === 2) continue;
        const kind = block !== 3 && id % 5 === 0 ? "gateway" : "device";
        model.set(id, { id, kind, product: products[id % 4] as number });
      }
      await db.write([...model.values()].map(insert));
      const size = [...model.values()].filter(
        ({ kind, product }) => kind === "device" && product <= 2,
      ).length;
      const last = Math.ceil(size / 10);
      await assertLists(db, model, [
        [1, 1000],
        [2, 1000],
        [last - 1, 10],
        [last, 10],
        [last + 1, 10],
        [Math.floor(last / 2), 10],
        [1, size],
      ]);
    }));
});

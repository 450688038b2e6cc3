/** What a tenant's dashboards may hold together. */
import { join } from "node:path";
import { StoreError } from "../../../../store/lib/errors.js";
import {
  createDashboard,
  dashboardsMax,
  documentsBytesMax,
  getDashboard,
  updateDashboard,
} from "../../../../store/metadata/dashboards/dashboards.js";
import type { Actor } from "../../../../store/metadata/db/changes.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import { assert, rejects, suite, withTempDir } from "../../../suite.js";

const actor = (tenant: number): Actor => ({ tenant, userIntID: null, username: "u" });

async function withDb(work: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await db.write([
      {
        sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'a', 'A', 0), (2, 'b', 'B', 0)",
      },
    ]);
    await work(db);
    await db.close();
  });
}

const held = async (db: Db, tenant: number) =>
  (await db.first<{ n: number; bytes: number }>(
    "select count(*) n, coalesce(sum(bytes), 0) bytes from dashboard_revision where tenant = ?",
    [tenant],
  )) ?? { n: 0, bytes: 0 };

const limit = async (action: () => Promise<unknown>): Promise<void> => {
  const error = await rejects(action);
  assert.ok(error instanceof StoreError && error.code === "LIMIT", String(error));
};

suite("bounds of dashboards", (test) => {
  test("beyond 64 MiB the oldest versions go first, of any dashboard, and never a present one", () =>
    withDb(async (db) => {
      // Large ones, to be there soon: the store does not look at what a document says.
      const document = "x".repeat(documentsBytesMax / 8);
      const make = (name: string) => createDashboard(db, actor(1), 0, { name, description: null, document });
      const idle = await make("idle");
      const busy = await make("busy");
      await createDashboard(db, actor(2), 0, { name: "theirs", description: null, document });
      let last = busy;
      for (let i = 0; i < 9; i++) last = await updateDashboard(db, actor(1), 0, last, { document });
      assert.equal(await held(db, 1), { n: 8, bytes: documentsBytesMax });
      assert.is((await getDashboard(db, 1, idle.id)).document.length, document.length);
      const versions = await db.all<{ version: number }>(
        "select version from dashboard_revision where dashboardIntID = ? order by version",
        [busy.id],
      );
      assert.equal(
        versions.map(({ version }) => version),
        [4, 5, 6, 7, 8, 9, 10],
      );
      assert.is((await held(db, 2)).n, 1);
      // Present ones alone fill it, and then nothing more is taken, neither by an edit.
      for (let i = 2; i < 8; i++) await make(`more ${i}`);
      assert.equal(await held(db, 1), { n: 8, bytes: documentsBytesMax });
      await limit(() => make("one more"));
      const small = await updateDashboard(db, actor(1), 1, last, { document: "{}" });
      await limit(() => updateDashboard(db, actor(1), 1, small, { document: `${document}x` }));
      assert.is((await getDashboard(db, 1, busy.id)).document, "{}");
      assert.is((await updateDashboard(db, actor(1), 1, small, { document })).version, small.version + 1);
    }));

  test("a tenant has a thousand, and another its own thousand", () =>
    withDb(async (db) => {
      const make = (tenant: number, i: number) =>
        createDashboard(db, actor(tenant), 0, { name: `n${i}`, description: null, document: "{}" });
      await Promise.all(Array.from({ length: dashboardsMax }, (_, i) => make(1, i)));
      await limit(() => make(1, dashboardsMax));
      const error = await rejects(() => make(1, 5));
      assert.ok(error instanceof StoreError && error.code === "CONFLICT", String(error));
      await make(2, 0);
      assert.is((await held(db, 1)).n, dashboardsMax);
    }));
});

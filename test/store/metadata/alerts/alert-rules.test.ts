import {
  createAlertRule,
  getAlertRule,
  updateAlertRule,
} from "../../../../store/metadata/alerts/alert-rules.js";
import { openDb } from "../../../../store/metadata/db/db.js";
import { createDataPoint } from "../../../../store/metadata/products/data-points.js";
import { createProduct } from "../../../../store/metadata/products/products.js";
import { createTenant } from "../../../../store/metadata/users/tenants.js";
import { assert, suite, withTempDir } from "../../../suite.js";

suite("edits of alert rules", (test) => {
  test("when two edit a rule's condition and its data point at once, neither goes past the other's check", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
      const tenant = (await createTenant(db, 0, "one")).id;
      const actor = { tenant, userIntID: null, username: null };
      const fields = { productName: "p", description: null, cloudProtocol: 1 };
      const product = (await createProduct(db, actor, 0, fields)).id;
      const common = { pointDataType: 1, dataTransType: 1 };
      const points: number[] = [];
      for (const name of ["a", "b"]) {
        points.push(
          (await createDataPoint(db, actor, 0, product, name, { ...common, dataPointName: name })).id,
        );
      }
      const [a = 0, b = 0] = points;
      const { id } = await createAlertRule(db, actor, 0, product, {
        alertName: "r",
        alertContent: "r",
        alertSeverity: 1,
        duration: 0,
        dataPointIntID: a,
        condition: "dataPoint > 50",
      });
      const read = await getAlertRule(db, tenant, id);
      assert.is((await updateAlertRule(db, actor, 1, read, { dataPointIntID: b }))?.dataPointIntID, b);
      // It has been checked with the first data point.
      assert.is(await updateAlertRule(db, actor, 1, read, { condition: "dataPoint > 7" }), null);
      assert.is((await getAlertRule(db, tenant, id)).condition, "dataPoint > 50");
      const told = await db.all("select action from change where entity = 'alert_rule' order by id");
      assert.equal(told, [{ action: "create" }, { action: "update" }], "only real edits are logged");
      // A field that has nothing to do with either is edited in both orders.
      assert.is((await updateAlertRule(db, actor, 1, read, { duration: 9 }))?.duration, 9);
      const now = await getAlertRule(db, tenant, id);
      const edited = await updateAlertRule(db, actor, 1, now, { condition: "dataPoint > 7" });
      assert.is(edited?.condition, "dataPoint > 7");
      await db.close();
    }));
});

/** The repeated queries of live streams use an index, and return alerts and commands once each, in their order. */
import { join } from "node:path";
import {
  alertsAfter,
  alertsByID,
  currentAlertIDs,
  lastAlertID,
} from "../../../store/metadata/alerts/alert-watch.js";
import { issuedAmong, lastLogID, logsAfter, logsByID } from "../../../store/metadata/commands/log-watch.js";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { assert, suite, withTempDir } from "../../suite.js";

/** All rows of a table are read, unless they are those of a bounded subquery or of a list that is given. */
const scans = (detail: string): boolean => /^SCAN (?!(n|json_each|\(subquery|value)\b)/.test(detail);

suite("watches of alerts and commands", (test) => {
  test("none of their questions scans a table", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      const plans: string[] = [];
      const explaining: Db = {
        ...db,
        all: async (sql, args) => {
          const steps = await db.all<{ detail: string }>(`explain query plan ${sql}`, args);
          plans.push(...steps.map(({ detail }) => detail));
          return [];
        },
        first: async (sql, args) => {
          await explaining.all(sql, args);
          return undefined;
        },
      };
      await alertsAfter(explaining, 1, 5, 10);
      await alertsByID(explaining, [1, 2]);
      await currentAlertIDs(explaining, 1, 10);
      await lastAlertID(explaining);
      await logsAfter(explaining, 1, 5, 10);
      await logsByID(explaining, [1, 2]);
      await issuedAmong(explaining, 1, 10);
      await lastLogID(explaining);
      assert.ok(plans.length > 8);
      assert.equal(plans.filter(scans), []);
      await db.close();
    }));
});

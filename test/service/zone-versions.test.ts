import { join } from "node:path";
import { createLogger } from "../../src/observability/log.js";
import { createTroubles } from "../../src/observability/status.js";
import { createZoneComparison } from "../../src/service/zone-versions.js";
import { openDb } from "../../store/metadata/db/db.js";
import { packedTimeZones } from "../../store/time-zones/packed.js";
import { assert, suite, withTempDir } from "../suite.js";

suite("time zone rules of several processes", (test) => {
  test("processes with different rules say so, in the log once, until all have the same or one has ended", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: true });
      const lines: string[] = [];
      const log = createLogger(
        "warn",
        (line) => lines.push(line),
        () => 0,
      );
      const process = (nodeNumber: number, version: string | null) => {
        const troubles = createTroubles();
        const config = { nodeNumber, timeZones: { ...packedTimeZones(), version } };
        const look = createZoneComparison({ config, db, note: troubles.note, log });
        return { look, troubles: () => [...troubles.all()] };
      };
      const one = process(1, "2026f");
      const two = process(2, "2025b");
      await one.look();
      assert.equal(one.troubles(), []);
      await two.look();
      await one.look();
      await one.look();
      const trouble = "nodes go by different time zone rules: node 1 by 2026f, node 2 by 2025b";
      assert.equal(one.troubles(), [["time zones", trouble]]);
      assert.match(two.troubles()[0]?.[1] ?? "", "node 2 by 2025b, node 1 by 2026f");
      assert.is(lines.length, 2);
      // Started again with the rules of the other.
      await process(2, "2026f").look();
      await one.look();
      assert.equal(one.troubles(), []);
      await process(3, null).look();
      await one.look();
      assert.match(one.troubles()[0]?.[1] ?? "", "node 3 by an unknown version");
      await db.write([{ sql: "update time_zone_version set seenAt = seenAt - 61 where node = 3" }]);
      await one.look();
      assert.equal(one.troubles(), []);
      await db.close();
    }));
});

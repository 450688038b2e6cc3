import { existsSync } from "node:fs";
import { join } from "node:path";
import { closeAtOnce } from "../../../store/files/closing.js";
import { connect } from "../../../store/files/connection.js";
import { assert, suite, withTempDir } from "../../suite.js";

suite("closing files", (test) => {
  test("a file is closed at once though collections came in the midst of its statements", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "a.db");
      const client = connect(path);
      await client.execute("pragma journal_mode = wal");
      await client.execute("create table t (a integer)");
      // So many rows that the statement outlives some collections.
      const { rows } = await client.execute(
        "with recursive c(i) as (select 1 union all select i + 1 from c where i < 300000) select i, 'row ' || i b from c",
      );
      assert.is(rows.length, 300_000);
      assert.ok(existsSync(`${path}-wal`));
      await closeAtOnce(client, path);
      assert.not(existsSync(`${path}-wal`));
    }));
});

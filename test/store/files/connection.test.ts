import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "../../../store/files/connection.js";
import { assert, suite, withTempDir } from "../../suite.js";

suite("a connection to a database file", (test) => {
  test("it opens the file that its path names, whatever a URL would read into the name", async () => {
    const name = "a b#c?d%41é.db";
    await withTempDir(async (dir) => {
      const client = connect(join(dir, name));
      try {
        await client.execute("create table kept (value text) strict");
        assert.ok((await readdir(dir)).includes(name));
      } finally {
        client.close();
      }
    });
  });
});

import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { checkDatabases } from "../../../store/files/database-check.js";
import { assert, openTempDir, suite } from "../../suite.js";

const rows = 20_000;

async function makeDatabase(path: string): Promise<void> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  await client.execute("create table one (id integer primary key, text text)");
  await client.execute(
    `insert into one with n(i) as (select 1 union all select i + 1 from n where i < ${rows})
     select i, printf('%0100d', i) from n`,
  );
  client.close();
}

async function damage(path: string): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, "r+");
  // Pages of the table, their heads among them.
  await file.write(Buffer.alloc(16_384, 0xa5), 0, 16_384, Math.floor(size / 2 / 4096) * 4096);
  await file.close();
}

suite("database check", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  test.before(async () => {
    dir = await openTempDir();
  });
  test.after(() => dir.close());

  test("what is damaged is named, the others are not, and files that are gone say nothing", async () => {
    const [sound, bad] = [join(dir.path, "sound.db"), join(dir.path, "bad.db")];
    for (const path of [sound, bad]) await makeDatabase(path);
    await damage(bad);
    const found: { path: string; fault: string }[] = [];
    await checkDatabases([sound, bad], (answer) => found.push(answer), new AbortController().signal);
    assert.equal(
      found.map(({ path }) => path),
      [bad],
    );
    assert.match(found[0]?.fault ?? "", /\w/);
  });

  test("it ends at once wherever it is, and leaves the process alone", async () => {
    const path = join(dir.path, "sound.db");
    for (const waitMs of [0, 30, 100, 200, 400]) {
      const ending = new AbortController();
      const found: unknown[] = [];
      const checked = checkDatabases(Array(50).fill(path), (answer) => found.push(answer), ending.signal);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      ending.abort();
      await checked;
      assert.equal(found, []);
    }
  });
});

/** The page of bench results is made from their data. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readResults, renderResults } from "../../bench/results-page.js";
import { repositoryRoot } from "../repository.js";
import { assert, suite } from "../suite.js";

suite("bench results", (test) => {
  test("every result has the fields of the schema", async () => {
    const fields = ["date", "program", "subject", "baseline", "figure", "unit", "machine", "note"];
    for (const result of await readResults()) {
      assert.equal(Object.keys(result), fields);
      if (result.date !== null) assert.match(result.date, /^\d{4}-\d\d-\d\d$/);
      assert.ok(result.figure === null || Number.isFinite(result.figure));
    }
  });

  test("bench/results.md is what `npm run bench -- results` writes", async () => {
    const page = await readFile(join(repositoryRoot(), "bench/results.md"), "utf8");
    assert.equal(page, renderResults(await readResults()));
  });
});

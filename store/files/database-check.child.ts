import { setPriority } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { asError } from "../lib/errors.js";
import { connect } from "./connection.js";
import { isDamage, toFault } from "./database-faults.js";

/** Checks databases table by table, at the lowest priority; rests three times as long as each table takes. */
export interface CheckAnswer {
  readonly path: string;
  readonly fault: string;
}

const restFactor = 3;

setPriority(19);
// The process that asked is gone.
process.once("disconnect", () => process.exit());

async function check(path: string): Promise<string | null> {
  const client = connect(path);
  try {
    await client.execute("pragma query_only = 1");
    const { rows } = await client.execute("select name from sqlite_schema where type = 'table'");
    for (const row of rows) {
      const startedAt = performance.now();
      const found = await client.execute(`pragma quick_check('${String(row.name).replaceAll("'", "''")}')`);
      const fault = toFault(found.rows[0]?.[0]);
      if (fault !== null) return fault;
      await delay((performance.now() - startedAt) * restFactor);
    }
    return null;
  } catch (error) {
    // Locked, unlinked or out of space: that says nothing about the contents.
    return isDamage(error) ? asError(error).message : null;
  } finally {
    client.close();
  }
}

for (const path of process.argv.slice(2)) {
  const fault = await check(path);
  if (fault !== null) process.send?.({ path, fault } satisfies CheckAnswer);
}
process.disconnect?.();

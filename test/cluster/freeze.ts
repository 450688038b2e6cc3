/** Nodes that stand still while the others go on. */
import { join } from "node:path";
import { createClient } from "@libsql/client/sqlite3";
import type { RunningService } from "../flow/support.js";
import { until } from "../suite.js";

/** Longer than the others write to the file at a time. */
const writeMs = 500;

/**
 * Stops a node while it is not writing to the metadata file, which all share: otherwise the file would stay locked
 * for the others, whereas a database server would release the lock.
 *
 * @param dir the folder of the cluster
 */
export async function freeze(node: RunningService, dir: string): Promise<void> {
  const metadata = createClient({ url: `file:${join(dir, "metadata.db")}` });
  try {
    await until(
      async () => {
        node.signal("SIGSTOP");
        try {
          await until(() => isFree(metadata), { what: "the file to be free", timeoutMs: writeMs });
          return true;
        } catch (error) {
          node.signal("SIGCONT");
          throw error;
        }
      },
      { what: "a node to stand still outside of its writes" },
    );
  } finally {
    metadata.close();
  }
}

async function isFree(metadata: ReturnType<typeof createClient>): Promise<boolean> {
  const write = await metadata.transaction("write");
  write.close();
  return true;
}

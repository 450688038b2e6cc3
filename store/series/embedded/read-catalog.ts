import { closeAtOnce } from "../../files/closing.js";
import { connect } from "../../files/connection.js";
import { type Checkpoints, parseCheckpoints, selectCheckpoints } from "./checkpoints.js";

/** What a catalog says of a store, which may be in use: how far it has come, and the files of its points. */
export async function readCatalog(path: string): Promise<{ checkpoints: Checkpoints; parts: string[] }> {
  const client = connect(path);
  try {
    await client.execute("pragma query_only = 1");
    const [found, listed] = await client.batch(
      [selectCheckpoints, "select path from part where dropped = 0"],
      "read",
    );
    return {
      checkpoints: parseCheckpoints(found?.rows ?? []),
      parts: (listed?.rows ?? []).map((row) => String(row[0])),
    };
  } finally {
    await closeAtOnce(client, path);
  }
}

import { open } from "node:fs/promises";
import { join } from "node:path";

/** Makes `bytes` bytes durable; calls follow one another. */
interface BareFile {
  commit(bytes: number): Promise<void>;
  close(): Promise<void>;
}

const fileBytesMax = 64 * 1024 * 1024;

/** The least that durability costs: bytes that are ready, one writev and one fdatasync for each commit. */
export async function openBareFile(dir: string): Promise<BareFile> {
  const file = await open(join(dir, "bare.log"), "w");
  let bytes = Buffer.alloc(0);
  let at = 0;
  return {
    commit: async (wanted) => {
      if (bytes.length !== wanted) bytes = Buffer.alloc(wanted, 0x2a);
      await file.writev([bytes], at);
      await file.datasync();
      at += bytes.length;
      // Like the journal's segments: the file starts anew, and the next round writes fresh blocks.
      if (at < fileBytesMax) return;
      await file.truncate(0);
      at = 0;
    },
    close: () => file.close(),
  };
}

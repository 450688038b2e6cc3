/** The files of points as a reader thread meets them: opened to be read, a bounded number at once. */

import { join } from "node:path";
import type { Client } from "@libsql/client/sqlite3";
import { systemClock } from "../../lib/clock.js";
import type { CatalogPart } from "./catalog-schema.js";
import { createVerified, type VerifiedChunks } from "./checksums.js";
import type { ChunkFault } from "./chunk-rows.js";
import { createOpenFiles } from "./open-files.js";
import { openPartFileToRead } from "./part-file.js";

export interface ReaderFiles {
  open(part: CatalogPart): Promise<Client>;
  /** Called for what is left out of an answer: a chunk of the part, or (null) something else of it. */
  onFault(part: CatalogPart, fault: ChunkFault | null, what: string): void;
  /** Chunks of a part that need not be verified again. */
  verified?(part: CatalogPart): VerifiedChunks;
}

interface OpenReaderFiles extends ReaderFiles {
  /** The ones that are open. */
  close(paths: readonly string[]): Promise<void>;
  closeAll(): Promise<void>;
}

export function createReaderFiles(
  dir: string,
  filesMax: number,
  onFault: ReaderFiles["onFault"],
): OpenReaderFiles {
  const verified = new Map<string, VerifiedChunks>();
  const opened = createOpenFiles<{ readonly client: Client }>(filesMax, (path) => verified.delete(path));

  return {
    open: async ({ path }) => {
      const known = opened.get(path);
      if (known !== undefined) return known.client;
      const client = await openPartFileToRead(join(dir, path));
      await opened.add(path, { client });
      return client;
    },
    onFault,
    verified: ({ path }) => {
      const known = verified.get(path) ?? createVerified(systemClock.monotonic);
      verified.set(path, known);
      return known;
    },
    close: (paths) => opened.close(...paths),
    closeAll: opened.closeAll,
  };
}

import { rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { StoreError } from "../../store/lib/errors.js";
import { createShares, type Shares } from "../../store/lib/shares.js";
import { ApiError } from "./errors.js";

/** The disk space that may be used on behalf of tenants. Space that the journal needs is never lent. */
export interface DiskSpace {
  /** Claims space for a growing file in the folder; claiming the same file again continues its claim. */
  claim(tenant: number, file: string): DiskClaim;
  /** Counts an existing file, whatever its size. */
  adopt(tenant: number, file: string): Promise<void>;
  /** Checks the space for writes outside the folder. @throws StoreError UNAVAILABLE while there is none */
  check(): Promise<void>;
  /** Removes the file, and gives its space back. */
  remove(file: string): Promise<void>;
  /** Bytes that count for the tenant. */
  held(tenant: number): number;
}

export interface DiskClaim {
  /** Must be awaited before this many bytes are written. @throws ApiError SERVICE_UNAVAILABLE, RESOURCE_LIMITED */
  grow(bytes: number): Promise<void>;
  /** Ends writing for now: gives back space claimed in advance. */
  settle(): void;
}

/** Space is claimed in steps of this size. */
const stepBytes = 2 ** 20;
/**
 * The margin between the space that others may fill and the point at which the journal stops; the journal, the stores
 * and the metadata write into it meanwhile.
 */
const marginBytes = 16 * 2 ** 20;
const retryAfterSeconds = "60";

export const diskFull = () =>
  new ApiError(
    "SERVICE_UNAVAILABLE",
    "the disk is too full for the file",
    {},
    { "Retry-After": retryAfterSeconds },
  );
const tooMuch = () =>
  new ApiError("RESOURCE_LIMITED", "the files of your tasks hold what the disk has left for them");

/** Free bytes beyond those that must stay free; 0 or less means none. */
export async function spareBytes(dir: string, freeBytesMin: number): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize - freeBytesMin - marginBytes;
}

/** @param spare free bytes beyond those that must stay free */
export function createDiskSpace(dir: string, spare: () => Promise<number>): DiskSpace {
  const files = new Map<string, { readonly tenant: number; bytes: number; ahead: number }>();
  /** Bytes promised but not yet written, which the file system does not know of. */
  let promised = 0;
  let left = 0;
  const shares: Shares<number> = createShares<number>(() => shares.total + left);

  function findFile(tenant: number, file: string) {
    const known = files.get(file) ?? { tenant, bytes: 0, ahead: 0 };
    files.set(file, known);
    return known;
  }

  async function look(): Promise<void> {
    const found = await spare();
    left = found - promised;
  }

  return {
    claim: (tenant, name) => {
      const file = findFile(tenant, name);
      return {
        grow: async (bytes) => {
          const used = Math.min(file.ahead, bytes);
          file.ahead -= used;
          promised -= used;
          const missing = bytes - used;
          if (missing === 0) return;
          await look();
          // The file was removed meanwhile; anything still written to it goes with it.
          if (files.get(name) !== file) return;
          const step = Math.max(stepBytes, missing);
          if (left < step) throw diskFull();
          if (!shares.take(tenant, step)) throw tooMuch();
          left -= step;
          file.bytes += step;
          file.ahead += step - missing;
          promised += step - missing;
        },
        settle: () => {
          const { ahead } = file;
          file.ahead = 0;
          promised -= ahead;
          file.bytes -= ahead;
          shares.give(tenant, ahead);
        },
      };
    },
    adopt: async (tenant, name) => {
      const size = await stat(join(dir, name)).then(
        (found) => found.size,
        () => 0,
      );
      const file = findFile(tenant, name);
      if (size <= file.bytes) return;
      shares.force(tenant, size - file.bytes);
      file.bytes = size;
    },
    check: async () => {
      await look();
      if (left < stepBytes) throw new StoreError("UNAVAILABLE", "the disk is too full");
    },
    remove: async (name) => {
      await rm(join(dir, name), { force: true });
      const file = files.get(name);
      if (file === undefined) return;
      files.delete(name);
      promised -= file.ahead;
      shares.give(file.tenant, file.bytes);
      file.ahead = 0;
    },
    held: shares.held,
  };
}

/** Ends the stream with an error if the tenant's share, or the disk, is full. */
export function guardClaim(guardedClaim: DiskClaim): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      guardedClaim.grow(chunk.length).then(() => done(null, chunk), done);
    },
    flush: (done) => {
      guardedClaim.settle();
      done();
    },
  });
}

import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

/** Slows down a copy: awaited before each piece, with its number of bytes. */
export type Throttle = (bytes: number) => Promise<void>;

export const unthrottled: Throttle = async () => undefined;

const pieceBytes = 1024 * 1024;
/** Bytes that are written between two syncs, so that none of them holds up the disk for others. */
const syncEvery = 8 * pieceBytes;

interface Copied {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Copies what a file holds now, from its first byte; what is appended meanwhile is left out. `to` must not exist. */
export async function copyFile(from: string, to: string, throttle: Throttle): Promise<Copied> {
  const source = await open(from, "r");
  try {
    const target = await open(to, "wx", 0o600);
    try {
      return await copyBytes(source, target, throttle);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function copyBytes(source: FileHandle, target: FileHandle, throttle: Throttle): Promise<Copied> {
  const { size } = await source.stat();
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, Math.max(1, size)));
  let position = 0;
  let unsynced = 0;
  while (position < size) {
    const length = Math.min(buffer.length, size - position);
    await throttle(length);
    const { bytesRead } = await source.read(buffer, 0, length, position);
    if (bytesRead === 0) break;
    const piece = buffer.subarray(0, bytesRead);
    hash.update(piece);
    await target.write(piece, 0, bytesRead, position);
    position += bytesRead;
    unsynced += bytesRead;
    if (unsynced >= syncEvery) {
      await target.datasync();
      unsynced = 0;
    }
  }
  await target.datasync();
  return { bytes: position, sha256: hash.digest("hex") };
}

export async function hashFile(path: string, throttle: Throttle = unthrottled): Promise<Copied> {
  const file = await open(path, "r");
  try {
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(pieceBytes);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, bytes);
      if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
      await throttle(bytesRead);
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** @param bytesPerSecond on average, in steps of a few pieces */
export function createThrottle(bytesPerSecond: number): Throttle {
  const startedAt = performance.now();
  let total = 0;
  return async (bytes) => {
    total += bytes;
    const aheadMs = (total / bytesPerSecond) * 1000 - (performance.now() - startedAt);
    if (aheadMs > 1) await delay(aheadMs);
  };
}

import { StoreError } from "../lib/errors.js";
import { posixTransitions, readPosixRule } from "./posix-rule.js";
import { createRules, lastYear, type Transition, type ZoneRules } from "./rules.js";

/** Reads files of compiled time zones, TZif (RFC 9636). */

const headerBytes = 44;

/** Where the parts of one data block are. */
interface Block {
  readonly timeCount: number;
  readonly typeCount: number;
  readonly charCount: number;
  readonly times: number;
  readonly indices: number;
  readonly types: number;
  readonly end: number;
}

export function isTzif(bytes: Uint8Array): boolean {
  return bytes.length >= headerBytes && text(bytes, 0, 4) === "TZif";
}

/**
 * The rules of a file, those of its footer written out up to the end of `lastYear`.
 * @throws StoreError CORRUPT for a file that is cut off, has no 64-bit data or counts leap seconds
 */
export function readTzif(name: string, bytes: Uint8Array): ZoneRules {
  const { block, footer } = tzifParts(name, bytes);
  const view = createView(bytes);
  const readOffset = (type: number): number => view.getInt32(block.types + type * 6);
  const explicit: Transition[] = [];
  for (let i = 0; i < block.timeCount; i++) {
    const at = Number(view.getBigInt64(block.times + i * 8));
    explicit.push({ at, offset: readOffset(view.getUint8(block.indices + i)) });
  }
  const last = explicit.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  const rule = footer === "" ? null : readPosixRule(footer);
  if (rule === undefined) throw damaged(name, `its footer ${JSON.stringify(footer)} cannot be read`);
  const recurring = rule === null ? [] : posixTransitions(rule, last, lastYear);
  return createRules(name, readOffset(0), [...explicit, ...recurring]);
}

/** Finds the 64-bit data and the footer, which lie behind data of 32 bits. @throws StoreError CORRUPT */
export function tzifParts(
  name: string,
  bytes: Uint8Array,
): { readonly block: Block; readonly footer: string } {
  if (!isTzif(bytes)) throw damaged(name, "it is no TZif file");
  // A byte that is zero, or a digit.
  if ((bytes[4] ?? 0) < 0x32) throw damaged(name, "it has no 64-bit data: TZif version 2 or later is needed");
  const block = blockAt(name, bytes, blockAt(name, bytes, 0, 4).end, 8);
  const end = bytes.indexOf(0x0a, block.end + 1);
  if (bytes[block.end] !== 0x0a || end < 0) throw damaged(name, "it is cut off");
  return { block, footer: text(bytes, block.end + 1, end) };
}

function blockAt(name: string, bytes: Uint8Array, start: number, timeBytes: 4 | 8): Block {
  if (start + headerBytes > bytes.length) throw damaged(name, "it is cut off");
  const view = createView(bytes);
  const counts = Array.from({ length: 6 }, (_, i) => view.getUint32(start + 20 + i * 4));
  const [utCount = 0, standardCount = 0, leapCount = 0, timeCount = 0, typeCount = 0, charCount = 0] = counts;
  const times = start + headerBytes;
  const indices = times + timeCount * timeBytes;
  const types = indices + timeCount;
  const leaps = types + typeCount * 6 + charCount;
  const end = leaps + leapCount * (timeBytes + 4) + standardCount + utCount;
  if (end > bytes.length || (timeBytes === 8 && typeCount === 0)) throw damaged(name, "it is cut off");
  if (leapCount > 0) throw damaged(name, "it counts leap seconds, which times here do not");
  return { timeCount, typeCount, charCount, times, indices, types, end };
}

const createView = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const text = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.subarray(from, to)).toString("latin1");
const damaged = (name: string, why: string): StoreError =>
  new StoreError("CORRUPT", `cannot read the rules of ${name}: ${why}`);

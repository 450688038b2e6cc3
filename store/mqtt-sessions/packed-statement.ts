import type { Bound, SessionStatement } from "./statements.js";

/** A statement in the form in which it crosses to the thread. */
export interface PackedStatement {
  readonly sql: string;
  /** For a blob, the number of its bytes. */
  readonly args: readonly (string | number | null)[];
  /** Indexes of the arguments that are blobs, ascending. */
  readonly blobs: readonly number[];
  /** The blobs' bytes one after the other; the buffer may be longer. */
  readonly room: ArrayBuffer;
}

/**
 * Copies the blobs into `buffer`, or into a larger one if they do not fit. Sending them as they are would copy more: a
 * blob that is a view of a packet would take all of the packet's buffer along.
 */
export function pack({ sql, args }: SessionStatement, buffer: ArrayBuffer): PackedStatement {
  const bytes = args.reduce<number>((sum, one) => sum + (one instanceof Uint8Array ? one.length : 0), 0);
  const taken = buffer.byteLength < bytes ? new ArrayBuffer(bytes) : buffer;
  const into = new Uint8Array(taken);
  const blobs: number[] = [];
  let end = 0;
  const packed = args.map((one, i) => {
    if (!(one instanceof Uint8Array)) return one;
    into.set(one, end);
    end += one.length;
    blobs.push(i);
    return one.length;
  });
  return { sql, args: packed, blobs, room: taken };
}

/** Returns the statement; its blobs are views of the buffer. */
export function unpack({ sql, args, blobs, room: buffer }: PackedStatement): { sql: string; args: Bound[] } {
  const unpacked: Bound[] = [...args];
  let at = 0;
  for (const i of blobs) {
    const bytes = Number(args[i]);
    unpacked[i] = new Uint8Array(buffer, at, bytes);
    at += bytes;
  }
  return { sql, args: unpacked };
}

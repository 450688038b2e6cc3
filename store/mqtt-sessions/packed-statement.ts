import type { Bound, BoundStatement } from "./statements.js";

/** A statement as it crosses to the thread. */
export interface PackedStatement {
  readonly sql: string;
  /** A blob is the number of its bytes. */
  readonly args: readonly (string | number | null)[];
  /** Which of them are blobs, ascending. */
  readonly blobs: readonly number[];
  /** Their bytes one after the other; it may be longer. */
  readonly room: ArrayBuffer;
}

/**
 * Copies the blobs into `room`, or a larger one where they do not fit: one that is a view of a packet would take all
 * that lies around it along.
 */
export function pack({ sql, args }: BoundStatement, room: ArrayBuffer): PackedStatement {
  const bytes = args.reduce<number>((sum, one) => sum + (one instanceof Uint8Array ? one.length : 0), 0);
  const taken = room.byteLength < bytes ? new ArrayBuffer(bytes) : room;
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

/** The statement, its blobs views of the room. */
export function unpack({ sql, args, blobs, room }: PackedStatement): { sql: string; args: Bound[] } {
  const unpacked: Bound[] = [...args];
  let at = 0;
  for (const i of blobs) {
    const bytes = Number(args[i]);
    unpacked[i] = new Uint8Array(room, at, bytes);
    at += bytes;
  }
  return { sql, args: unpacked };
}

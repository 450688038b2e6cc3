import { closeSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Records of the journal after `after`, up to `through`. */
export interface RecordSpan {
  readonly after: number;
  readonly through: number;
}

/** The work of a follower of the journal. */
export interface Work {
  /** The span begun and not yet settled, or null. */
  readonly work: RecordSpan | null;
  /** The span in which earlier starts ended, and how many have ended since it was reduced to a single record. */
  readonly suspect: (RecordSpan & { readonly ends: number }) | null;
}

/** Where a follower notes its present work, for the next start if this one ends in the middle of it. */
export interface WorkMark {
  /** The note as the last start left it. */
  readonly before: Work;
  /** A promise, which never rejects, where that takes time: what is noted must not begin before it resolves. */
  write(work: Work): Promise<void> | undefined;
  close(): void;
}

export const noWork: Work = { work: null, suspect: null };

/** Enough bytes for the digits of two spans of ids. */
const markBytes = 256;

/**
 * A file, written in place and not synced: it must outlive the process, but not the machine, whose end is no record's
 * fault. @throws if it cannot be made
 */
export function openWorkMark(path: string): WorkMark {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, "a+", 0o600);
  closeSync(file);
  const handle = openSync(path, "r+");
  let isOpen = true;
  const buffer = Buffer.alloc(markBytes, " ");
  const length = readSync(handle, buffer, 0, markBytes, 0);
  return {
    before: readWork(buffer.toString("utf8", 0, length)),
    write: (work) => {
      // By now its number may belong to another file.
      if (!isOpen) return undefined;
      buffer.fill(" ");
      buffer.write(`${JSON.stringify(work)}\n`);
      writeSync(handle, buffer, 0, markBytes, 0);
      return undefined;
    },
    close: () => {
      if (isOpen) closeSync(handle);
      isOpen = false;
    },
  };
}

/** A text that is no mark counts as empty. */
export function readWork(text: string): Work {
  try {
    const { work, suspect } = JSON.parse(text) as Work;
    const ends = suspect?.ends;
    return {
      work: isSpan(work) ? work : null,
      suspect: isSpan(suspect) && Number.isSafeInteger(ends) ? suspect : null,
    };
  } catch {
    return noWork;
  }
}

function isSpan(span: unknown): boolean {
  if (typeof span !== "object" || span === null) return false;
  const { after, through } = span as Partial<RecordSpan>;
  return Number.isSafeInteger(after) && Number.isSafeInteger(through) && Number(after) < Number(through);
}

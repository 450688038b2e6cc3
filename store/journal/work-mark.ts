import { closeSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Records of the journal behind `after`, up to `through`. */
export interface Span {
  readonly after: number;
  readonly through: number;
}

/** What a follower of the journal was at. */
export interface Work {
  /** Begun, and not settled yet; null: nothing. */
  readonly work: Span | null;
  /** What earlier starts ended in, and how many have ended since it was one record alone. */
  readonly suspect: (Span & { readonly ends: number }) | null;
}

/**
 * Where a follower leaves word of what it is at, for the start after one that ends in the middle of it. Written in
 * place and not synced: it has to outlive the process, not the machine, whose end says nothing of a record.
 */
export interface WorkMark {
  /** As the last start has left it. */
  readonly before: Work;
  write(work: Work): void;
  close(): void;
}

export const noWork: Work = { work: null, suspect: null };

/** Two spans of ids in digits fit. */
const markBytes = 256;

/** @throws when the file cannot be made */
export function openWorkMark(path: string): WorkMark {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, "a+", 0o600);
  closeSync(file);
  const handle = openSync(path, "r+");
  let isOpen = true;
  const buffer = Buffer.alloc(markBytes, " ");
  const length = readSync(handle, buffer, 0, markBytes, 0);
  return {
    before: read(buffer.toString("utf8", 0, length)),
    write: (work) => {
      // Its number may be another file's by now.
      if (!isOpen) return;
      buffer.fill(" ");
      buffer.write(`${JSON.stringify(work)}\n`);
      writeSync(handle, buffer, 0, markBytes, 0);
    },
    close: () => {
      if (isOpen) closeSync(handle);
      isOpen = false;
    },
  };
}

/** What is no mark says nothing. */
function read(text: string): Work {
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
  const { after, through } = span as Partial<Span>;
  return Number.isSafeInteger(after) && Number.isSafeInteger(through) && Number(after) < Number(through);
}

/** Up to where a folder is a copy of its log: a file beside the segments. */
import { join } from "node:path";
import { StoreError } from "../../lib/errors.js";
import { readChecked, writeChecked } from "../checked-file.js";
import type { LoggedSegment } from "./log-frames.js";

/** The partition that a folder copies. */
export interface LogName {
  /** The topic's id, which another topic of its name does not have. */
  readonly topicID: string;
  readonly partition: number;
}

/** The position up to which everything is on disk; what the files hold beyond it is copied again from the log. */
export interface CopyMark {
  /** The next frame. */
  readonly offset: number;
  /** The highest that was claimed before it. */
  readonly epoch: number;
  /** The newest segment, as long as it was; null before the first. */
  readonly current: LoggedSegment | null;
  /** The segments before it, oldest first. */
  readonly before: readonly LoggedSegment[];
}

export const copyMarkName = "copy.json";
const format = 1;

type Saved = CopyMark & LogName & { readonly format: number };

/**
 * Null if nothing has been copied into the folder, or the mark cannot be read: then all of it is copied again.
 * @throws StoreError MISMATCH for the copy of another log, INVALID for a newer format
 */
export async function readCopyMark(
  dir: string,
  name: LogName,
  onTrouble: (error: Error) => void,
): Promise<CopyMark | null> {
  const path = join(dir, copyMarkName);
  let saved: Saved | null;
  try {
    saved = (await readChecked(path)) as Saved | null;
  } catch (error) {
    onTrouble(new Error(`cannot read ${path}, all of the log is copied again`, { cause: error }));
    return null;
  }
  if (saved === null) return null;
  if (saved.format > format)
    throw new StoreError("INVALID", `cannot open the journal: ${path} has format ${saved.format}`);
  if (saved.topicID !== name.topicID || saved.partition !== name.partition) {
    const other = `partition ${saved.partition} of the topic with id ${saved.topicID}`;
    throw new StoreError("MISMATCH", `cannot open the journal: ${dir} is a copy of ${other}`);
  }
  return saved;
}

export function writeCopyMark(dir: string, name: LogName, mark: CopyMark): Promise<void> {
  return writeChecked(dir, copyMarkName, { format, ...name, ...mark });
}

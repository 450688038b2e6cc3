/**
 * The copy of the sessions' file in the journal. The journal no longer has the records of old changes to sessions: a
 * machine that opens the journal without its sessions' file finds the newest copy there.
 */
import { type FileHandle, open, rm } from "node:fs/promises";
import { findFault } from "../files/database-file.js";
import { peekRecord } from "../journal/frame.js";
import type { Journal } from "../journal/journal.js";
import type { JournalRecord, SnapshotPart } from "../journal/record.js";
import { decodeRecord } from "../journal/record-codecs.js";
import { recordKinds } from "../journal/record-kinds.js";
import { StoreError } from "../lib/errors.js";
import type { SessionStore } from "./session-store.js";

/** Small enough to be appended between messages. */
const partBytes = 128 * 1024;
/** Their number has 16 bits. */
const partsMax = 65_536;

interface WrittenSnapshot {
  /** The journal id whose state it holds: what comes after it is still needed. */
  readonly savedID: number;
  readonly bytes: number;
}

/**
 * Appends the file as it is now, a part after the other, each once the one before is kept. `scratch` is a path for its
 * copy.
 * @throws StoreError UNAVAILABLE if the journal takes nothing, somebody else reads the file, or the signal is aborted;
 *   then what has been appended means nothing
 */
export async function appendSnapshot(
  store: Pick<SessionStore, "copyTo">,
  journal: Pick<Journal, "append" | "committedID" | "waitFor" | "stopped">,
  scratch: string,
  signal: AbortSignal,
): Promise<WrittenSnapshot> {
  refuseStopped(journal);
  await rm(scratch, { force: true });
  try {
    const savedID = await store.copyTo(scratch);
    const file = await open(scratch, "r");
    try {
      const { size } = await file.stat();
      const parts = Math.ceil(size / partBytes);
      if (parts > partsMax) throw new StoreError("LIMIT", `the sessions' file has ${size} bytes`);
      for (let part = 0; part < parts; part++) {
        if (signal.aborted) throw new StoreError("UNAVAILABLE", "the snapshot of the sessions is given up");
        const payload = await readPart(file, part);
        await keepPart(journal, { ...ofNobody, savedID, part, isLast: part === parts - 1, payload });
      }
      return { savedID, bytes: size };
    } finally {
      await file.close();
    }
  } finally {
    await rm(scratch, { force: true });
  }
}

const ofNobody = { kind: recordKinds.snapshotPart, tenant: 0, device: 0 } as const;

async function readPart(file: FileHandle, part: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(partBytes);
  const { bytesRead } = await file.read(buffer, 0, partBytes, part * partBytes);
  return buffer.subarray(0, bytesRead);
}

async function keepPart(
  journal: Pick<Journal, "append" | "committedID" | "waitFor" | "stopped">,
  part: SnapshotPart,
): Promise<void> {
  refuseStopped(journal);
  const id = journal.append(part);
  while (journal.committedID < id) {
    if (!(await journal.waitFor(journal.committedID))) throw takesNothing("it is closed");
    if (journal.committedID < id) refuseStopped(journal);
  }
}

/** What a journal that has stopped is given stays in memory until it goes on, and nothing says when. */
function refuseStopped({ stopped }: Pick<Journal, "stopped">): void {
  if (stopped !== null) throw takesNothing(stopped);
}

const takesNothing = (reason: string): StoreError =>
  new StoreError("UNAVAILABLE", `the journal takes nothing: ${reason}`);

/** Whether the journal has released records that the saved state does not include. */
export function isCutOff({ segments: [oldest] }: Pick<Journal, "segments">, savedID: number): boolean {
  return oldest !== undefined && oldest.previousID !== 0 && oldest.afterID > savedID;
}

/**
 * Puts the newest whole snapshot of the journal in place of the store's file; false if the journal has none that is newer
 * than the file. `scratch` is a path for it.
 */
export async function restoreSnapshot(
  store: Pick<SessionStore, "replaceWith" | "savedID">,
  journal: Pick<Journal, "segments" | "read">,
  scratch: string,
): Promise<boolean> {
  const { segments } = journal;
  const savedID = await store.savedID();
  try {
    for (let i = segments.length - 1; i >= 0; i--) {
      const [first, next] = [segments[i]?.firstID ?? 0, segments[i + 1]?.firstID];
      if (next !== undefined && next <= savedID) return false;
      for (const id of (await beginnings(journal, savedID, first, next)).reverse()) {
        if (!(await collect(journal, id, scratch)) || (await findFault(scratch)) !== null) continue;
        await store.replaceWith(scratch);
        return true;
      }
    }
    return false;
  } finally {
    await rm(scratch, { force: true });
  }
}

/** The ids of first parts of later states than one, from one id up to another, ascending. */
async function beginnings(
  journal: Pick<Journal, "read">,
  afterID: number,
  firstID: number,
  endID = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  const ids: number[] = [];
  for await (const { id, part, savedID } of partsFrom(journal, firstID, endID))
    if (part === 0 && savedID > afterID) ids.push(id);
  return ids;
}

/** Writes the parts from the first one on into a file; false if they are not all there. */
async function collect(journal: Pick<Journal, "read">, firstID: number, path: string): Promise<boolean> {
  const file = await open(path, "w", 0o600);
  try {
    let next = 0;
    let savedID = 0;
    for await (const record of partsFrom(journal, firstID, Number.POSITIVE_INFINITY)) {
      if (next === 0) savedID = record.savedID;
      if (record.part !== next || record.savedID !== savedID) return false;
      await file.write(record.payload);
      next++;
      if (!record.isLast) continue;
      await file.sync();
      return true;
    }
    return false;
  } finally {
    await file.close();
  }
}

/** The payload of each is there until the next is asked for. */
async function* partsFrom(
  journal: Pick<Journal, "read">,
  firstID: number,
  endID: number,
): AsyncGenerator<JournalRecord<SnapshotPart>> {
  const reader = await journal.read(firstID - 1);
  try {
    for (let batch = await reader.next(); batch !== null; batch = await reader.next()) {
      for (const at of batch.offsets) {
        const { id, kind } = peekRecord(batch.buffer, at);
        if (id >= endID) return;
        if (kind !== recordKinds.snapshotPart) continue;
        const record = decodeRecord(batch.buffer, at, batch.topics);
        if (record.kind === recordKinds.snapshotPart) yield record;
      }
    }
  } finally {
    await reader.close();
  }
}

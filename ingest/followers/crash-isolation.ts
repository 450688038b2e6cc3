import type { JournalRecord } from "../../store/journal/record.js";
import type { RecordSpan, Work, WorkMark } from "../../store/journal/work-mark.js";

/**
 * Finds the record that ends one start after the other. While a follower works off what it has found in the journal,
 * its mark says which records are in work. A start that finds such a mark works these off in small groups, then one by
 * one, each settled before the next is begun. What two starts have ended in alone is tried in a thread of its own
 * first, and passed over only if it ends the trial too. A start that finds no mark loses nothing by all this.
 */
export interface CrashIsolation {
  /** Whether the record may be processed at once. Notes the records in work where needed. */
  pass(id: number, settledID: number): boolean;
  /** Waits until a record that `pass` refuses may be processed; false: a dead letter. `rest` settles all before it. */
  enter(record: JournalRecord, rest: () => Promise<unknown>): Promise<boolean>;
  /** Everything up to there is settled. Beyond the records that the start has found, nothing is noted any more. */
  settled(id: number): void;
  /** Whether a record that may have ended an earlier start is still to be worked on. */
  readonly isNarrow: boolean;
  /** An orderly end: nothing is noted as in work. */
  close(): Promise<void>;
}

/** How much is noted at once, and what is made of it: notes may be cheap, and further starts dear. */
export interface IsolationPace {
  /** Notes of a start without a suspicion, but each is of 512 records at the least. */
  readonly notesMax: number;
  /** So few are worked off one by one at once, without an earlier start having ended in them. */
  readonly aloneAtOnceMax: number;
  /** Starts that have ended while one record alone was in work, before it is tried. */
  readonly endsMax: number;
}

interface IsolationOptions {
  readonly mark: WorkMark;
  readonly pace: IsolationPace;
  /** What the follower goes on from, and the end of the journal at the start. */
  readonly from: number;
  readonly end: number;
  /** The dead letters of this follower. */
  readonly isAside: (id: number) => boolean;
  /** Tries a record in isolation. False: it crashed the trial, and is now a dead letter. */
  readonly tryAlone: (record: JournalRecord) => Promise<boolean>;
  /** Whether another follower isolates records: a suspected record must be the only one in work in the process. */
  readonly isHeld: () => boolean;
  /** Resolves once no other follower isolates records. */
  readonly turn: () => Promise<void>;
  /** Called once no record is suspected any more, which may be at once. */
  readonly onWide: () => void;
}

/** Records that are noted as in work at once, if there are not many. */
const notedAtOnce = 512;
/** More than these are worked off in groups of that many first. */
const aloneMax = 1024;

type Suspect = NonNullable<Work["suspect"]>;

export function createCrashIsolation(options: IsolationOptions): CrashIsolation {
  const { mark, pace, from, end, isAside } = options;
  let suspect = findSuspect(mark.before, from, end) ?? fewFound(pace, from, end);
  let work: RecordSpan | null = null;
  /** Until the last note is written. */
  let noting: Promise<void> | null = null;
  /** Until what the start has found is settled. */
  let active = end > from;
  const size = Math.max(notedAtOnce, Math.ceil((end - from) / pace.notesMax));
  const note = (next: RecordSpan | null): void => {
    work = next;
    const written = mark.write({ work, suspect })?.then(() => {
      if (noting === written) noting = null;
    });
    noting = written ?? null;
  };
  const acquit = (): void => {
    suspect = null;
    options.onWide();
  };
  note(null);
  if (suspect === null) options.onWide();

  /** Suspected records must be settled before others are worked on. */
  const noteGroup = (id: number, settledID: number): void => {
    const through = Math.min(end, suspect?.after ?? end, id + size);
    note({ after: Math.max(from, Math.min(settledID, id - 1)), through });
  };

  function pass(id: number, settledID: number): boolean {
    if (!active || id > end) return true;
    if (isAside(id) || options.isHeld() || noting !== null) return false;
    if (isIn(work, id)) return true;
    if (suspect !== null && id > suspect.after) return false;
    noteGroup(id, settledID);
    return noting === null;
  }

  async function enter(record: JournalRecord, rest: () => Promise<unknown>): Promise<boolean> {
    const { id } = record;
    if (isAside(id)) return false;
    await options.turn();
    await noting;
    // `pass` refused it only because its note was still being written.
    if (!isIn(suspect, id) && isIn(work, id)) return true;
    await rest();
    if (suspect === null || !isIn(suspect, id)) {
      if (suspect !== null && id > suspect.through) acquit();
      noteGroup(id, id - 1);
      await noting;
      return true;
    }
    const { after, through, ends } = suspect;
    const most = through - after > aloneMax ? notedAtOnce : 1;
    const group = { after: id - 1, through: Math.min(through, id - 1 + most) };
    if (isOne(group) && ends >= pace.endsMax) {
      note(null);
      await noting;
      if (!(await options.tryAlone(record))) return false;
    }
    note(group);
    await noting;
    return true;
  }

  return {
    pass,
    enter,
    settled: (id) => {
      if (!active) return;
      if (suspect !== null && id >= suspect.through) acquit();
      if (id < end) return;
      active = false;
      note(null);
    },
    get isNarrow() {
      return active && suspect !== null;
    },
    close: async () => {
      if (work !== null) note(null);
      await noting;
      mark.close();
    },
  };
}

/** What a follower asks for its start: it goes on from `from`, and the journal ends at `end`. */
export type StartIsolation = (from: number, end: number) => CrashIsolation;

const isOne = ({ after, through }: RecordSpan): boolean => through - after === 1;

const isIn = (span: RecordSpan | null, id: number): boolean =>
  span !== null && id > span.after && id <= span.through;

function fewFound({ aloneAtOnceMax }: IsolationPace, from: number, end: number): Suspect | null {
  return end > from && end - from <= aloneAtOnceMax ? { after: from, through: end, ends: 0 } : null;
}

/** What the start before this one has left: it ended in `work`, or had not come to what was suspected before. */
function findSuspect({ work, suspect }: Work, from: number, end: number): Suspect | null {
  const found = work === null ? suspect : endedIn(work, suspect);
  if (found === null) return null;
  const [after, through] = [Math.max(found.after, from), Math.min(found.through, end)];
  return after < through ? { ...found, after, through } : null;
}

function endedIn(work: RecordSpan, suspect: Work["suspect"]): Suspect {
  if (!isOne(work)) return { ...work, ends: 0 };
  const again = suspect !== null && suspect.after === work.after && suspect.through === work.through;
  return { ...work, ends: (again ? suspect.ends : 0) + 1 };
}

/** For a follower of a journal that is not a deployment's. */
export const noIsolation: StartIsolation = () => ({
  pass: () => true,
  enter: async () => true,
  settled: () => undefined,
  isNarrow: false,
  close: async () => undefined,
});

import type { Damage } from "../../files/damage.js";
import type { StoreErrorCode } from "../../lib/errors.js";
import type { Arithmetic } from "../arithmetic.js";
import type { Aggregate, ArithmeticAnswer, DeviceKey, ReadRange, RemovedPoints } from "../series.js";
import type { CancelFlag } from "./cancellation.js";
import type { CatalogPart } from "./catalog-schema.js";
import type { ChunkFault } from "./chunk-rows.js";
import type { Run } from "./columns.js";
import type { Gap } from "./gaps.js";
import type { RemovedScope } from "./names.js";

/** A call that crosses threads: arguments and answer. */
export interface CallShape {
  readonly args: unknown;
  readonly answer: unknown;
}

/** Columns of a batch: point i is (handles[i], times[i]) with values[i], or texts[textIndex[i]] where it is text. */
export interface WriteArgs {
  readonly handles: Int32Array;
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly texts: readonly string[];
  /** -1 where the point is not a text; null where no point is. */
  readonly textIndex: Int32Array | null;
  readonly through: number;
}

export interface LastPoint {
  readonly time: number;
  readonly value: number | string;
}

export interface FindAnswer {
  /** 0 when no file holds the series. */
  readonly id: number;
  readonly memory: Run | null;
  /** The newest point in memory before the range, where it was asked for. */
  readonly before: LastPoint | null;
  /** Points before this time are being removed and must not be answered. */
  readonly floor: number;
  /** The parts of the range that may hold the series, ascending; with `before` also the earlier ones. */
  readonly parts: readonly CatalogPart[];
}

/** A part that may hold some of the series that are asked for: bit i % 8 of byte i / 8 stands for the i-th. */
export interface PartOfSome extends CatalogPart {
  readonly has: Uint8Array;
}

export type WriterCalls = {
  write: { args: WriteArgs; answer: null };
  /** The shard, or null for the only journal. */
  checkpoint: { args: number | null; answer: number };
  flush: { args: null; answer: null };
  find: { args: { handle: number; range: ReadRange; before: boolean }; answer: FindAnswer };
  findLast: {
    args: Int32Array;
    answer: {
      ids: number[];
      memory: (LastPoint | null)[];
      floor: number;
      /** Ascending. */
      parts: PartOfSome[];
    };
  };
  /** Indexes of the devices that may have points. */
  havePoints: { args: readonly DeviceKey[]; answer: number[] };
  remove: { args: readonly RemovedScope[]; answer: null };
  /** What a reader could not answer: it is checked, quarantined and reported. */
  suspect: { args: { path: string; chunk: ChunkFault | null; fault: string }; answer: null };
  /** The points of a gap have been written again, as far as possible. */
  endGap: { args: number; answer: null };
  /** Hides points older than the time and takes whole parts off the list: readers must close these. */
  retire: { args: number; answer: readonly CatalogPart[] };
  /** Unlinks the retired parts and trims the part that spans the time. */
  dropOld: { args: { time: number; retired: readonly CatalogPart[] }; answer: RemovedPoints };
  close: { args: null; answer: null };
};

export interface SeriesInFiles {
  readonly id: number;
  readonly text: boolean;
  readonly memory: Run | null;
  readonly floor: number;
  /** The parts that the range touches, ascending. */
  readonly parts: readonly CatalogPart[];
  /** Null where the caller never cancels. */
  readonly left: CancelFlag | null;
}

export type ReaderCalls = {
  read: { args: SeriesInFiles & { range: ReadRange }; answer: Run };
  aggregate: {
    args: SeriesInFiles & {
      edges: Float64Array;
      aggregate: Aggregate;
      /** Null: the values are taken as they are. */
      arithmetic: Arithmetic | null;
      before: LastPoint | null;
      /** Parts before the range, ascending: where the point before it may lie. */
      earlier: readonly CatalogPart[];
    };
    /** Null where the point before the range has no result, so that an increase cannot begin from it. */
    answer: ArithmeticAnswer | null;
  };
  extremes: {
    args: SeriesInFiles & { start: number; stop: number; width: number; exactMax: number };
    answer: Run;
  };
  latest: {
    args: {
      ids: readonly number[];
      texts: readonly boolean[];
      parts: readonly PartOfSome[];
      floor: number;
      left: CancelFlag | null;
    };
    answer: (LastPoint | null)[];
  };
  forget: { args: readonly string[]; answer: null };
  close: { args: null; answer: null };
};

/** The names of the series with the handles `first`, `first + 1` and so on. */
export interface Definitions {
  readonly first: number;
  readonly names: readonly string[];
}

export interface WriterOptions {
  readonly dir: string;
  readonly memtablePointsMax: number;
  readonly memtableTextBytesMax: number;
  readonly flushIntervalMs: number;
  /** A part is cut only once its file has about so many bytes. */
  readonly partBytesMin: number;
  /** When every chunk is first verified, milliseconds after the start; then daily. */
  readonly scrubAfterMs: number;
}

export type WriterEvent =
  | { readonly event: "ready" }
  /** The store could not be opened; the thread ends. */
  | { readonly event: "failed"; readonly code: StoreErrorCode; readonly message: string }
  | { readonly event: "parts"; readonly parts: readonly CatalogPart[] }
  | { readonly event: "damage"; readonly damage: Damage }
  | { readonly event: "gap"; readonly gap: Gap }
  /** The catalog is damaged: the next start makes it again. The thread ends. */
  | { readonly event: "ended"; readonly message: string };

/** A reader has left something out of an answer: one chunk, or (null) something else of the part. */
export interface ReaderEvent {
  readonly event: "fault";
  readonly path: string;
  readonly chunk: ChunkFault | null;
  readonly fault: string;
}

import { type LocalTime, readPointTime, unreadableTime } from "../../../ingest/decode/time.js";
import { rfc3339 } from "../../../query/time-text.js";
import type { BatchBuilder } from "./batch-builder.js";
import { importValue, type PointAnswer, valueReasonTexts } from "./values.js";

/** A series as a file names it. */
export interface TargetName {
  readonly deviceID: string;
  readonly dataPointID: string;
}

/** The deployment's answer about a series: what the data point takes, or why there is no such series. */
export type TargetAnswer = PointAnswer | { readonly column: string; readonly problem: string };

export const noDevice = { column: "deviceID", problem: "there is no such device" };
export const noPoint = { column: "dataPointID", problem: "the device's product has no such data point" };

/** A target of the running import; `index` counts all that were asked for. */
export type ImportTarget = TargetAnswer & { readonly index: number };

/** The target of a name that is longer than any can be; it is not remembered. */
export const overlong: Readonly<Record<"device" | "point", ImportTarget>> = {
  device: { ...noDevice, index: -1 },
  point: { ...noPoint, index: -1 },
};

/** The times that rows may have, microseconds. */
export interface TimeBounds {
  /** Times before this are refused. */
  readonly earliest: number;
  /** Points are kept from this time on; at least `earliest`. */
  readonly oldest: number;
  readonly newest: number;
}

/** Reads rows of one format. */
export interface RowTaker {
  /**
   * Takes rows of [from, to) until the batch is full, a row names a target that is not known yet, or no whole row is
   * left. Returns the offset after the last row taken. `end`: no more bytes follow.
   */
  take(bytes: Buffer, from: number, to: number, end: boolean): number;
  /** Notes the unknown targets of the rows that follow. */
  lookAhead(bytes: Buffer, from: number, to: number, end: boolean): void;
}

export interface TakerState {
  readonly builder: BatchBuilder;
  readonly local: LocalTime;
  readonly bounds: TimeBounds;
  /** By the file's spelling of the name. */
  readonly targets: Map<string, ImportTarget>;
  readonly unknown: Map<string, TargetName>;
  /** Grows when the targets are counted anew. */
  epoch: number;
  /** Line of the next row. */
  line: number;
}

/** Reads the time of a row, as that of a point which a device sends; reports a fault and returns NaN. */
export function readRowTime(state: TakerState, value: unknown): number {
  const time = readPointTime(value, state.local);
  if (time !== null) return time;
  state.builder.refuse(state.line, "time", unreadableTime);
  return Number.NaN;
}

/** True if points of that time are kept; otherwise the row is bad. */
export function isStorable(state: TakerState, time: number): boolean {
  const { earliest, oldest, newest } = state.bounds;
  if (time >= oldest && time <= newest) return true;
  const error =
    time > newest
      ? "lies in the future"
      : time < earliest
        ? `lies before ${rfc3339(earliest)}, from which times are taken`
        : "lies before what is kept";
  state.builder.refuse(state.line, "time", error);
  return false;
}

/** Adds one value to the batch, converted to the data point's type, or reports why it cannot. */
export function takeValue(
  state: TakerState,
  target: ImportTarget,
  time: number,
  value: unknown,
  column: string,
): void {
  const { builder, line } = state;
  if ("problem" in target) return builder.refuse(line, target.column, target.problem);
  const converted = importValue(target, value, state.local);
  if ("value" in converted) builder.add(target.index, time, converted.value, line);
  else builder.refuse(line, column, valueReasonTexts[converted.reason] ?? converted.reason);
}

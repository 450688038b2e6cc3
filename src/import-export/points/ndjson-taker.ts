import { isUtf8 } from "node:buffer";
import { parseJson } from "../../../ingest/decode/exact-numbers.js";
import { historyColumnsMax, nameBytesMax, rowBytesMax, unknownMax } from "./limits.js";
import {
  type ImportTarget,
  isStorable,
  overlong,
  type RowTaker,
  readRowTime,
  type TakerState,
  takeValue,
} from "./row-taker.js";

const lineFeed = 10;

type Row = Readonly<Record<string, unknown>>;
type Cell = readonly [dataPointID: string, value: unknown, column: string];

/** Rows of newline-delimited JSON: {deviceID, dataPointID, time, value}, or {deviceID, time} and data points. */
export function createNdjsonTaker(state: TakerState): RowTaker {
  const { builder, targets, unknown } = state;

  /** The row's values: one of the long layout, or those of the wide one. */
  function listCells(row: Row): Cell[] {
    const { dataPointID } = row;
    if (typeof dataPointID === "string" && Object.hasOwn(row, "value"))
      return [[dataPointID, row.value, "value"]];
    return Object.entries(row).flatMap(([name, value]): Cell[] =>
      name === "deviceID" || name === "time" || value === null ? [] : [[name, value, name]],
    );
  }

  function findTarget(deviceID: string, dataPointID: string): ImportTarget | undefined {
    if (deviceID.length > nameBytesMax) return overlong.device;
    if (dataPointID.length > nameBytesMax) return overlong.point;
    const key = `${deviceID}\n${dataPointID}`;
    const target = targets.get(key);
    if (target === undefined) unknown.set(key, { deviceID, dataPointID });
    return target;
  }

  /** False if the row must wait until its targets are known. */
  function takeRow(text: Buffer): boolean {
    const row = parse(text);
    if (typeof row === "string") {
      if (row !== "") builder.refuse(state.line, "", row);
      return true;
    }
    const { deviceID } = row;
    if (typeof deviceID !== "string") {
      builder.refuse(state.line, "deviceID", "must be a text");
      return true;
    }
    const cells = listCells(row);
    const found = cells.map(([dataPointID]) => findTarget(deviceID, dataPointID));
    if (found.includes(undefined)) return false;
    const time = readRowTime(state, row.time);
    if (Number.isNaN(time) || !isStorable(state, time)) return true;
    for (const [i, [, value, column]] of cells.entries())
      takeValue(state, found[i] as ImportTarget, time, value, column);
    return true;
  }

  function lineEnd(bytes: Buffer, from: number, to: number, end: boolean): number {
    const found = bytes.indexOf(lineFeed, from);
    const stop = found >= 0 && found < to ? found : end ? to : -1;
    return stop - from < rowBytesMax ? stop : -1;
  }

  return {
    take: (bytes, from, to, end) => {
      let at = from;
      while (at < to && !builder.full) {
        const stop = lineEnd(bytes, at, to, end);
        if (stop < 0 || !takeRow(bytes.subarray(at, stop))) return at;
        state.line++;
        at = Math.min(to, stop + 1);
      }
      return at;
    },
    lookAhead: (bytes, from, to, end) => {
      for (let at = from; at < to && unknown.size < unknownMax; ) {
        const stop = lineEnd(bytes, at, to, end);
        if (stop < 0) return;
        const row = parse(bytes.subarray(at, stop));
        if (typeof row !== "string" && typeof row.deviceID === "string") {
          for (const [dataPointID] of listCells(row)) findTarget(row.deviceID, dataPointID);
        }
        at = stop + 1;
      }
    },
  };
}

/** The row, or its fault; an empty text for a blank line. */
function parse(bytes: Buffer): Row | string {
  const text = bytes.toString("utf8");
  if (text.includes("\ufffd") && !isUtf8(bytes)) return "is not UTF-8";
  if (text.trim() === "") return "";
  try {
    const row = parseJson(text);
    if (typeof row === "object" && row !== null && !Array.isArray(row)) {
      return Object.keys(row).length > historyColumnsMax
        ? `more than ${historyColumnsMax} columns`
        : (row as Row);
    }
  } catch {
    return "is not JSON";
  }
  return "must be a JSON object";
}

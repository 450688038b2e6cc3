import type { OriginalForm } from "../../../query/original.js";
import { guardFormula } from "../formula-guard.js";
import type { ExportDevice, ExportPlan, ExportPoint, TimeStyle } from "./export-messages.js";
import { type HistoryLayout, longColumns, wideColumns } from "./limits.js";
import { createTimeWriter } from "./times.js";

type Value = number | string;
type ToText = (value: Value) => string;

/** Rows of an export as text; every value reads back as it was. */
interface RowWriter {
  readonly head: string;
  /** Rows of one data point. */
  long(device: ExportDevice, point: ExportPoint): (time: number, value: Value) => string;
  /** Rows of one device; `cells` by the data point's index in the device, undefined if it has no point at that time. */
  wide(device: ExportDevice): (time: number, cells: readonly (Value | undefined)[]) => string;
}

/** JSON and String() write negative zero without its sign. */
const numberText: ToText = (value) => (Object.is(value, -0) ? "-0" : String(value));
const booleanText: ToText = (value) => (value === 1 ? "true" : "false");

const csvTexts: Readonly<Record<OriginalForm, ToText>> = {
  number: numberText,
  boolean: booleanText,
  // Always quoted: an empty text is a value, while an empty cell is not.
  text: (value) => quoted(guardFormula(String(value))),
  place: (value) => quoted(String(value)),
};

const jsonTexts: Readonly<Record<OriginalForm, ToText>> = {
  number: numberText,
  boolean: booleanText,
  text: (value) => JSON.stringify(value),
  place: String,
};

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const csvName = (name: string): string => {
  const guarded = guardFormula(name);
  return /[",;\t\r\n]/.test(guarded) ? quoted(guarded) : guarded;
};
const csvEnd = "\r\n";

/** Every data point of the devices once, in their order. */
function listColumns(devices: readonly ExportDevice[]): string[] {
  return [...new Set(devices.flatMap(({ points }) => points.map(({ dataPointID }) => dataPointID)))];
}

export function createRowWriter({ format, layout, times, devices }: ExportPlan): RowWriter {
  return format === "csv" ? csvWriter(layout, times, listColumns(devices)) : ndjsonWriter(times);
}

function csvWriter(layout: HistoryLayout, times: TimeStyle, columns: readonly string[]): RowWriter {
  const timeText = createTimeWriter(times);
  const names = layout === "long" ? longColumns : [...wideColumns, ...columns];
  return {
    head: names.map(csvName).join(",") + csvEnd,
    long: ({ deviceID }, { dataPointID, form }) => {
      const prefix = `${csvName(deviceID)},${csvName(dataPointID)},`;
      const valueText = csvTexts[form];
      return (time, value) => `${prefix}${timeText(time)},${valueText(value)}${csvEnd}`;
    },
    wide: ({ deviceID, points }) => {
      const prefix = `${csvName(deviceID)},`;
      const indexes = columns.map((column) => points.findIndex(({ dataPointID }) => dataPointID === column));
      const texts = points.map(({ form }) => csvTexts[form]);
      return (time, cells) => {
        let row = prefix + timeText(time);
        for (const index of indexes) {
          const value = cells[index];
          row += value === undefined ? "," : `,${texts[index]?.(value)}`;
        }
        return row + csvEnd;
      };
    },
  };
}

function ndjsonWriter(times: TimeStyle): RowWriter {
  const written = createTimeWriter(times);
  const timeText = times === "ms" ? written : (time: number) => `"${written(time)}"`;
  return {
    head: "",
    long: ({ deviceID }, { dataPointID, form }) => {
      const prefix = `{"deviceID":${JSON.stringify(deviceID)},"dataPointID":${JSON.stringify(dataPointID)},"time":`;
      const valueText = jsonTexts[form];
      return (time, value) => `${prefix}${timeText(time)},"value":${valueText(value)}}\n`;
    },
    wide: ({ deviceID, points }) => {
      const prefix = `{"deviceID":${JSON.stringify(deviceID)},"time":`;
      const names = points.map(({ dataPointID }) => `,${JSON.stringify(dataPointID)}:`);
      const texts = points.map(({ form }) => jsonTexts[form]);
      return (time, cells) => {
        let row = prefix + timeText(time);
        for (const [index, value] of cells.entries()) {
          if (value !== undefined) row += `${names[index]}${texts[index]?.(value)}`;
        }
        return `${row}}\n`;
      };
    },
  };
}

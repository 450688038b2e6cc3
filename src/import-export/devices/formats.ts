import { open } from "node:fs/promises";
import { csvFile } from "./csv-file.js";
import type { TableFormat } from "./table-file.js";
import { xlsxFile } from "./xlsx-file.js";

export const formats = { xlsx: xlsxFile, csv: csvFile } as const satisfies Readonly<
  Record<string, TableFormat>
>;
export type FormatName = keyof typeof formats;
export const formatNames = Object.keys(formats) as [FormatName, ...FormatName[]];

export const fileTypes = Object.values(formats).map(({ type }) => type);

/** Detects the format by the content, not by the name: a workbook is a zip file. */
export async function detectFormat(path: string): Promise<FormatName> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.equals(Buffer.from("PK\u0003\u0004", "latin1")) ? "xlsx" : "csv";
  } finally {
    await file.close();
  }
}

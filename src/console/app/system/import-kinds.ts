/** Files that can be imported: what they must hold, and how they travel. */
import { upload } from "../files.js";
import type { TextKey } from "../texts/texts.js";
import { isNdjson, isPacked, missingForDevices, missingForPoints } from "./preview.js";

export interface ImportKind {
  readonly name: string;
  readonly title: TextKey;
  readonly hint: TextKey;
  /** The `accept` attribute of the file picker. */
  readonly accept: string;
  /** Columns that must be there and are not. */
  missing(columns: readonly string[]): readonly string[];
  /** Whether the file can be read here; a workbook is read by the service alone. */
  isReadable(file: File): boolean;
  send(
    file: File,
    beginning: string,
    onProgress: (share: number) => void,
    signal: AbortSignal,
  ): Promise<{ readonly statusUrl: string }>;
}

export const pointsFile: ImportKind = {
  name: "points",
  title: "transfer.pointsIn",
  hint: "transfer.pointsHint",
  accept: ".csv,.tsv,.txt,.ndjson,.jsonl,.gz",
  missing: missingForPoints,
  isReadable: () => true,
  send: (file, beginning, onProgress, signal) =>
    upload("/original_data", file, {
      headers: {
        "Content-Type": isNdjson(beginning) ? "application/x-ndjson" : "text/csv",
        ...(isPacked(file) ? { "Content-Encoding": "gzip" } : {}),
      },
      onProgress,
      signal,
    }),
};

export const devicesFile: ImportKind = {
  name: "devices",
  title: "transfer.devicesIn",
  hint: "transfer.devicesHint",
  accept: ".xlsx,.csv",
  missing: missingForDevices,
  isReadable: ({ name }) => !/\.xlsx$/i.test(name),
  send: (file, _beginning, onProgress, signal) => {
    const form = new FormData();
    form.set("file", file);
    return upload("/devices_import", form, { headers: {}, onProgress, signal });
  },
};

/** Bounds of history files. */

/** A row holds at least one text of the longest kind, every byte of it escaped. */
export const rowBytesMax = 512 * 1024;
/** Columns of a row: one data point each in the wide layout. */
export const historyColumnsMax = 4096;
/** Points that travel together from the reading thread to the store. */
export const batchPointsMax = 8192;
/** Texts of one batch, in UTF-16 units. */
export const batchTextMax = 4 << 20;
/** Bad rows reported with one batch. */
export const batchErrorsMax = 1000;
/** Bad rows that the task's msg lists; its file lists all. */
export const errorsListedMax = 1000;
/** Bytes of the file that lists bad rows; further ones are only counted. */
export const errorsFileBytesMax = 1 << 30;
/** No device and no data point has a longer name. */
const nameCharactersMax = 64;
/** Bytes of a cell that can name one: UTF-8, and the mark before a text that looks like a formula. */
export const nameBytesMax = 3 * nameCharactersMax + 1;
/** (device, data point) pairs that one import remembers at a time. */
export const importTargetsMax = 200_000;
/** Characters of their names. */
export const targetCharactersMax = 16 << 20;
/** Pairs that a reader asks for at once. */
export const unknownMax = 5000;

export const historyFormats = ["csv", "ndjson"] as const;
export type HistoryFormat = (typeof historyFormats)[number];
export const historyTypes = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

export const layouts = ["long", "wide"] as const;
export type HistoryLayout = (typeof layouts)[number];

/** Columns of the long layout; in the wide one, each column after these two is a data point. */
export const longColumns = ["deviceID", "dataPointID", "time", "value"] as const;
export const wideColumns = ["deviceID", "time"] as const;

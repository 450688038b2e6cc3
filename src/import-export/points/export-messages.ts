import type { OriginalForm } from "../../../query/original.js";
import type { HistoryFormat, HistoryLayout } from "./limits.js";

/** How times are written: RFC 3339 with six decimals, in UTC or with the offset of a zone, or milliseconds since 1970. */
export type TimeStyle = "utc" | "ms" | { readonly timezone: string };

/** An export as the writing thread sees it: series are numbers, and their points come when it pulls them. */
export interface ExportPlan {
  readonly format: HistoryFormat;
  readonly layout: HistoryLayout;
  readonly times: TimeStyle;
  readonly gzip: boolean;
  readonly devices: readonly ExportDevice[];
}

export interface ExportDevice {
  readonly deviceID: string;
  readonly points: readonly ExportPoint[];
}

export interface ExportPoint {
  readonly dataPointID: string;
  readonly form: OriginalForm;
  readonly series: number;
}

/** Points of one series, ascending: numbers, or texts. */
export interface ExportPiece {
  readonly times: Float64Array;
  readonly values: Float64Array | readonly string[];
}

export type FromExport =
  | { readonly kind: "pull"; readonly series: number }
  | { readonly kind: "chunk"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  | { readonly kind: "failed"; readonly message: string };

export type ToExport =
  /** The next piece of a series, or null after its last. */
  | { readonly kind: "piece"; readonly series: number; readonly piece: ExportPiece | null }
  /** A chunk has been taken. */
  | { readonly kind: "taken" };

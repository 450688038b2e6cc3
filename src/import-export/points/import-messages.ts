import type { ReadBatch } from "./batch-builder.js";
import type { FilePosition, HistoryFile } from "./read-history.js";
import type { TargetAnswer, TargetName, TimeBounds } from "./row-taker.js";

/** Messages between the reading thread and the service. */

export interface ImportStart {
  readonly file: HistoryFile;
  readonly position: FilePosition | null;
  readonly bounds: TimeBounds;
  /** The zone of times without an offset. */
  readonly timezone: string;
}

export type FromImport =
  | { readonly kind: "resolve"; readonly names: readonly TargetName[] }
  | { readonly kind: "batch"; readonly batch: ReadBatch; readonly position: FilePosition }
  | { readonly kind: "reset" }
  | { readonly kind: "end" }
  /** `format`: the file is malformed, which is its caller's fault. */
  | { readonly kind: "failed"; readonly message: string; readonly format: boolean };

export type ToImport =
  | { readonly kind: "resolved"; readonly answers: readonly TargetAnswer[] }
  /** A batch has been processed. */
  | { readonly kind: "done" }
  | { readonly kind: "reset" };

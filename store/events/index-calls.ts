import type { FileCalls } from "../file-threads/file-thread.js";
import type { Damage } from "../files/damage.js";
import type { Segment } from "../journal/segment.js";

/** The requests to the thread that indexes closed segments, and its answers and events. */
export type IndexRequest =
  | {
      /** `look`: only checks whether the segment is what was written. */
      readonly kind: "index" | "look";
      readonly segment: Segment;
      /** First id of the next segment, and the last id before it. */
      readonly endID: number;
      readonly afterID: number;
    }
  | { readonly kind: "forget"; readonly firstID: number };

export type IndexCalls = FileCalls & {
  request: { args: { readonly path: string; readonly request: IndexRequest }; answer: null };
};

/** Damage in a segment, which a request for the index file of this path has met. */
export interface IndexEvent {
  readonly path: string;
  readonly damage: Damage;
}

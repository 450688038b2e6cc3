import type { Caller } from "../http/caller.js";
import type { Variant } from "../http/route.js";
import type { Stamp } from "./time.js";

/** What a view needs beside the record. */
export interface ViewContext {
  readonly stamp: Stamp;
  readonly variant: Variant;
  /** False for viewers, who see keys and tokens as null. */
  readonly secrets: boolean;
}

/** All that most views need. */
export type Stamped = Pick<ViewContext, "stamp">;

export function viewContext(
  stamp: Stamp,
  input: { readonly caller: Caller; readonly variant: Variant },
): ViewContext {
  return { stamp, variant: input.variant, secrets: input.caller.role !== "viewer" };
}

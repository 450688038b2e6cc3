import { wallText } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";
import type { Caller } from "../http/caller.js";
import type { Variant } from "../http/route.js";

/** Milliseconds → `YYYY-MM-DD HH:MM:SS` in the deployment's time zone; null stays null. */
export type Stamp = (at: number | null) => string | null;

/** The context of a view besides the record. */
export interface ViewContext {
  readonly stamp: Stamp;
  readonly variant: Variant;
  /** False for viewers, who see keys and tokens as null. */
  readonly secrets: boolean;
}

/** Enough context for most views. */
export type Stamped = Pick<ViewContext, "stamp">;

export function viewContext(
  stamp: Stamp,
  input: { readonly caller: Caller; readonly variant: Variant },
): ViewContext {
  return { stamp, variant: input.variant, secrets: input.caller.role !== "viewer" };
}

export function createStamp(zone: Zone): Stamp {
  return (at) => (at === null ? null : wallText(zone, at));
}

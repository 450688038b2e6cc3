import { wallText } from "../../query/time-text.js";
import type { Zone } from "../../query/zone.js";
import type { ApiCaller } from "../http/caller.js";
import type { Variant } from "../http/route.js";
import type { Writing } from "../http/writing.js";

/** The context of a view besides the record. */
export interface ViewContext extends Writing {
  readonly variant: Variant;
  /** False for viewers, who see keys and tokens as null. */
  readonly secrets: boolean;
}

/** Enough context for most views. */
export type Stamped = Pick<Writing, "stamp">;
/** With the labels of codes. */
export type Labelled = Omit<Writing, "labelB">;

export function viewContext(input: {
  readonly caller: ApiCaller;
  readonly variant: Variant;
  readonly writing: Writing;
}): ViewContext {
  return { ...input.writing, variant: input.variant, secrets: input.caller.role !== "viewer" };
}

export function createStamp(zone: Zone): (at: number | null) => string | null {
  return (at) => (at === null ? null : wallText(zone, at));
}

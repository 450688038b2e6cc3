/** What a share shows of a dashboard. Pure; times in milliseconds since 1970. */
import type { DashboardDocument, Panel } from "./document.js";

export type SharedPanel = Exclude<Panel, { readonly type: "command" }>;
export type SharedDocument = Omit<DashboardDocument, "panels"> & { readonly panels: SharedPanel[] };

/** A visitor with a token sends no commands, and does not see which there are. */
export function sharedDocument(document: DashboardDocument): SharedDocument {
  return {
    ...document,
    panels: document.panels.filter((panel): panel is SharedPanel => panel.type !== "command"),
  };
}

/** A device, group or product that a panel names, itself or by a variable; null while none is chosen. */
export function findSharedTarget(
  { variables }: Pick<DashboardDocument, "variables">,
  text: string,
  type: "device" | "group" | "product",
): { readonly type: string; readonly id: string } | null {
  if (!text.startsWith("$")) return { type, id: text };
  const found = variables.find(({ name }) => name === text.slice(1));
  return found === undefined || found.value === "" ? null : { type: found.type, id: found.value };
}

export interface SharedSpan {
  readonly start: number;
  readonly end: number;
}

/** A share shows so many times the range of its dashboard. */
const spansMax = 12;

/**
 * The range that a share answers: the one that is asked for, cut to the time that it shows. That ends where the
 * dashboard's own range ends, and is twelve times as long; it reaches back further where a panel compares its range with
 * an earlier one. Null if nothing of what is asked for lies in it.
 *
 * @param own the dashboard's range as it is now
 * @param requested bounds that are not given are those of the dashboard
 * @param compareMs how far before its range a panel looks too
 */
export function sharedRange(
  own: SharedSpan,
  requested: Partial<SharedSpan>,
  compareMs: number,
): SharedSpan | null {
  const from = Math.min(own.end - spansMax * (own.end - own.start), own.start - compareMs);
  const start = Math.max(requested.start ?? own.start, from);
  const end = Math.min(requested.end ?? own.end, own.end);
  return start < end ? { start, end } : null;
}

/** The differences between two versions of a dashboard. Pure. */
import type { Dashboard, Panel } from "./document.js";

type Content = Pick<Dashboard, "name" | "description" | "document">;

interface Difference {
  readonly kind: "added" | "removed" | "changed";
  /** A panel's title or id; null: of the dashboard itself. */
  readonly panel: string | null;
  /** The names of the changed fields. */
  readonly fields: readonly string[];
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function differences(before: Content, after: Content): Difference[] {
  const found: Difference[] = [];
  const whole = [
    ...(["name", "description"] as const).filter((field) => !same(before[field], after[field])),
    ...(["variables", "range", "timezone", "refreshSeconds"] as const).filter(
      (field) => !same(before.document[field], after.document[field]),
    ),
  ];
  if (whole.length > 0) found.push({ kind: "changed", panel: null, fields: whole });
  const old = new Map(before.document.panels.map((panel) => [panel.id, panel]));
  for (const panel of after.document.panels) {
    const known = old.get(panel.id);
    old.delete(panel.id);
    if (known === undefined) found.push({ kind: "added", panel: namePanel(panel), fields: [] });
    else {
      const fields = changedFields(known, panel);
      if (fields.length > 0) found.push({ kind: "changed", panel: namePanel(panel), fields });
    }
  }
  for (const panel of old.values()) found.push({ kind: "removed", panel: namePanel(panel), fields: [] });
  return found;
}

const namePanel = ({ title, id }: Panel): string => (title === "" ? id : title);

function changedFields(before: Panel, after: Panel): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const of = (panel: Panel, name: string): unknown => (panel as unknown as Record<string, unknown>)[name];
  return [...names].filter((name) => !same(of(before, name), of(after, name)));
}

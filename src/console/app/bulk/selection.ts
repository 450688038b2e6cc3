/** Which rows of the fleet something is to be done to: some of them, or all that pass the filter. */

export type Selection = ReadonlySet<number> | "all";

export const nothing: Selection = new Set();

export const isChosen = (selection: Selection, id: number): boolean =>
  selection === "all" || selection.has(id);

export const countSelected = (selection: Selection, all: number): number =>
  selection === "all" ? all : selection.size;

export function withRow(selection: Selection, id: number, isOn: boolean): Selection {
  const next = new Set(selection === "all" ? [] : selection);
  if (isOn) next.add(id);
  else next.delete(id);
  return next;
}

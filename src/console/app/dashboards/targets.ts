/** What a panel names: a record by its string id, or a variable by `$` and its name. Pure. */
import type { Variable } from "./document.js";

/** Values of variables that were chosen on the page, by their names. */
export type Chosen = Readonly<Record<string, string>>;

interface Target {
  readonly type: string;
  readonly id: string;
}

export function chosenValue({ name, value }: Variable, chosen: Chosen): string {
  return chosen[name] ?? value;
}

/** Null: none is chosen yet. */
export function resolveTarget(
  text: string,
  type: "device" | "group" | "product",
  variables: readonly Variable[],
  chosen: Chosen,
): Target | null {
  if (!text.startsWith("$")) return text === "" ? null : { type, id: text };
  const found = variables.find(({ name }) => name === text.slice(1));
  if (found === undefined) return null;
  const id = chosenValue(found, chosen);
  return id === "" ? null : { type: found.type, id };
}

/** A text with `$name` replaced by the values of variables: titles, texts, payloads. */
export function filledIn(
  text: string,
  variables: readonly Variable[],
  chosen: Chosen,
  written: (value: string) => string = (value) => value,
): string {
  return text.replaceAll(/\$([A-Za-z][A-Za-z0-9_]*)/g, (whole, name: string) => {
    const found = variables.find((one) => one.name === name);
    return found === undefined ? whole : written(chosenValue(found, chosen));
  });
}

import { dictionary, dictionaryB, textDictionary } from "../http/labels.js";
import type { Variant } from "../http/route.js";

interface DictEntry {
  readonly label: string;
  readonly value: number | string;
}

type Labels = Readonly<Record<string, string>>;

/** Every name of the dictionary in a variant, with its codes ascending. */
export function dictCode(variant: Variant): Readonly<Record<string, DictEntry[]>> {
  const { deviceType, status } = dictionaryB;
  const numbers = entries({ ...dictionary, ...(variant === "B" ? { deviceType, status } : {}) }, Number);
  return Object.fromEntries([...numbers, ...entries(textDictionary, String)]);
}

function entries(
  names: Readonly<Record<string, Labels>>,
  read: (code: string) => number | string,
): [string, DictEntry[]][] {
  return Object.entries(names).map(([name, labels]) => [
    name,
    Object.entries(labels).map(([code, label]) => ({ label, value: read(code) })),
  ]);
}

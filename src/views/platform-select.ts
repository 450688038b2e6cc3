import type {
  DataPointSelection,
  DeviceSelection,
  ProductSelection,
  Selection,
} from "../../store/metadata/selections.js";
import { dictionary, dictionaryB, textDictionary } from "../http/labels.js";
import { dictionaryBEn, dictionaryEn, textDictionaryEn } from "../http/labels-en.js";
import type { Variant } from "../http/route.js";
import type { LabelLanguage } from "../http/writing.js";

export function selection({ label, value }: Selection) {
  return { label, value };
}

export function productSelection({ label, value, cloudProtocol, productIntID }: ProductSelection) {
  return { label, value, attr: { cloudProtocol, productIntID } };
}

export function deviceSelection({ label, value, deviceIntID }: DeviceSelection) {
  return { label, value, attr: { deviceIntID } };
}

/** How a selection names a data point: by record id, alone or with its attributes, or by its string id. */
export type PointForm = "id" | "idAndAttr" | "dataPointID";

export function dataPointSelection(point: DataPointSelection, form: PointForm) {
  const { label, value, dataPointID, dataTransType, pointDataType } = point;
  if (form === "dataPointID") return { label, value: dataPointID };
  if (form === "id") return { label, value };
  return { label, value, attr: { dataTransType, enum: point.enum, pointDataType } };
}

interface DictEntry {
  readonly label: string;
  readonly value: number | string;
}

type Labels = Readonly<Record<string, string>>;

/** Every name of the dictionary in a variant, with its codes ascending. */
export function dictCode(
  variant: Variant,
  language: LabelLanguage = "zh",
): Readonly<Record<string, DictEntry[]>> {
  const { all, ofB, ofTexts } = dictionaries[language];
  const { deviceType, status } = ofB;
  const numbers = entries({ ...all, ...(variant === "B" ? { deviceType, status } : {}) }, Number);
  return Object.fromEntries([...numbers, ...entries(ofTexts, String)]);
}

const dictionaries = {
  zh: { all: dictionary, ofB: dictionaryB, ofTexts: textDictionary },
  en: { all: dictionaryEn, ofB: dictionaryBEn, ofTexts: textDictionaryEn },
} as const;

function entries(
  names: Readonly<Record<string, Labels>>,
  read: (code: string) => number | string,
): [string, DictEntry[]][] {
  return Object.entries(names).map(([name, labels]) => [
    name,
    Object.entries(labels).map(([code, label]) => ({ label, value: read(code) })),
  ]);
}

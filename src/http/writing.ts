/** How an answer writes what the interface has as texts: times and the labels of codes, as the caller asks for them. */
import { invalid } from "./errors.js";
import { dictionary, dictionaryB, textDictionary } from "./labels.js";
import { dictionaryBEn, dictionaryEn, textDictionaryEn } from "./labels-en.js";

/** Milliseconds → `YYYY-MM-DD HH:MM:SS` in the deployment's time zone, or as they are; null stays null. */
type Stamp = (at: number | null) => string | number | null;

const labelLanguages = ["zh", "en"] as const;
export type LabelLanguage = (typeof labelLanguages)[number];

/** The labels of codes; null for no value. */
interface Labels {
  label(name: keyof typeof dictionary, code: number | null): string | null;
  /** Labels of codes that Variant B defines differently. */
  labelB(name: keyof typeof dictionaryB, code: number | null): string | null;
  /** Labels of codes that are texts. */
  labelOfText(name: keyof typeof textDictionary, code: string): string | null;
}

export interface Writing extends Labels {
  readonly stamp: Stamp;
  readonly language: LabelLanguage;
}

type Names = Readonly<Record<string, Readonly<Record<string | number, string>>>>;

const findLabel = (names: Names, name: string, code: string | number | null): string | null =>
  code === null ? null : (names[name]?.[code] ?? null);

function createLabels(all: Names, ofB: Names, ofTexts: Names): Labels {
  return {
    label: (name, code) => findLabel(all, name, code),
    labelB: (name, code) => findLabel(ofB, name, code),
    labelOfText: (name, code) => findLabel(ofTexts, name, code),
  };
}

export const labels: Readonly<Record<LabelLanguage, Labels>> = {
  zh: createLabels(dictionary, dictionaryB, textDictionary),
  en: createLabels(dictionaryEn, dictionaryBEn, textDictionaryEn),
};

const inMs: Stamp = (at) => at;

/** What answers depend on, besides what they are asked. */
export const writingHeaders = ["Time-Format", "Label-Language"] as const;

/** @param text writes a time as the interface has it */
export function createWritings(text: Stamp): (headers: Headers) => Writing {
  const writings = new Map<string, Writing>(
    labelLanguages.flatMap((language) =>
      (["text", "ms"] as const).map((format) => {
        const stamp = format === "ms" ? inMs : text;
        return [`${format} ${language}`, { ...labels[language], language, stamp }] as const;
      }),
    ),
  );
  const [usual] = writings.values();
  return (headers) => {
    const [format, language] = writingHeaders.map((name) => headers.get(name));
    if (format === null && language === null && usual !== undefined) return usual;
    if (format !== null && format !== "text" && format !== "ms")
      throw invalid({ "Time-Format": "must be text or ms" });
    const found = writings.get(`${format ?? "text"} ${language ?? "zh"}`);
    if (found === undefined) throw invalid({ "Label-Language": "must be zh or en" });
    return found;
  };
}

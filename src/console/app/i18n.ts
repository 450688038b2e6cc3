/** Texts in the language of the page: English or Chinese, with the same keys. */
import { signal } from "@preact/signals";
import { en, type TextKey } from "./texts/en.js";
import { zh } from "./texts/zh.js";

type Language = "en" | "zh";

const dictionaries: Readonly<Record<Language, Readonly<Record<TextKey, string>>>> = { en, zh };
const storedAt = "tidemark.language";

export const language = signal<Language>(initial());

function initial(): Language {
  const stored = localStorage.getItem(storedAt);
  if (stored === "en" || stored === "zh") return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function setLanguage(chosen: Language): void {
  localStorage.setItem(storedAt, chosen);
  document.documentElement.lang = chosen;
  language.value = chosen;
}

document.documentElement.lang = language.value;

/** The text of a key, with `{name}` replaced by its value. */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return dictionaries[language.value][key].replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

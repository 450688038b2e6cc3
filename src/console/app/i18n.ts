/** Texts in the language of the page: English or Chinese, both of every text. */
import { signal } from "@preact/signals";
import { type TextKey, texts } from "./texts/texts.js";

type Language = "en" | "zh";

/** Where a language stands in each text. */
const places = { en: 0, zh: 1 } as const;
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
  return texts[key][places[language.value]].replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

/** Words for the codes of records, as the API's dictionary has them. */
import { signal } from "@preact/signals";
import { call } from "./api.js";
import { language, t } from "./i18n.js";
import { me } from "./session.js";
import { type TextKey, texts } from "./texts/texts.js";

interface Word {
  readonly label: string;
  readonly value: number | string;
}

const dictionary = signal<Readonly<Record<string, readonly Word[]>>>({});
/** The language that it was asked for in. */
let asked: string | null = null;

/** The word of a code. Without a session there is no dictionary, and most codes are shown as numbers. */
export function describeCode(field: string, code: unknown): string {
  const wanted = language.value;
  if (asked !== wanted && me.value !== null) {
    asked = wanted;
    const headers = { "Label-Language": wanted };
    call<Record<string, readonly Word[]>>("GET", "/platform_select/dict_code", { headers }).then(
      (found) => {
        if (asked === wanted) dictionary.value = found;
      },
      () => {
        asked = null;
      },
    );
  }
  return dictionary.value[field]?.find(({ value }) => value === code)?.label ?? ownWord(field, code);
}

/** A word that the console has itself; the code where there is none. */
function ownWord(field: string, code: unknown): string {
  const key = `code.${field}.${String(code)}`;
  return Object.hasOwn(texts, key) ? t(key as TextKey) : String(code);
}

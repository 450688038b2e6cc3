/** Words for the codes of records, as the API's dictionary has them. */
import { signal } from "@preact/signals";
import { call } from "./api.js";
import { language } from "./i18n.js";

interface Word {
  readonly label: string;
  readonly value: number | string;
}

const dictionary = signal<Readonly<Record<string, readonly Word[]>>>({});
/** The language that it was asked for in. */
let asked: string | null = null;

/** The word of a code; the code itself until the dictionary has come, and where it has none. */
export function wordOf(field: string, code: unknown): string {
  const wanted = language.value;
  if (asked !== wanted) {
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
  return dictionary.value[field]?.find(({ value }) => value === code)?.label ?? String(code);
}

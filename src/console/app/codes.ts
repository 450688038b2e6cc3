/** Words for the codes of records, as the API's dictionary has them. */
import { signal } from "@preact/signals";
import { call } from "./api.js";

interface Word {
  readonly label: string;
  readonly value: number | string;
}

const dictionary = signal<Readonly<Record<string, readonly Word[]>>>({});
let isAsked = false;

/** The word of a code; the code itself until the dictionary has come, and where it has none. */
export function wordOf(field: string, code: unknown): string {
  if (!isAsked) {
    isAsked = true;
    call<Record<string, readonly Word[]>>("GET", "/platform_select/dict_code").then(
      (found) => {
        dictionary.value = found;
      },
      () => {
        isAsked = false;
      },
    );
  }
  return dictionary.value[field]?.find(({ value }) => value === code)?.label ?? String(code);
}

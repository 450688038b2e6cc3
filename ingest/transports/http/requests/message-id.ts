import { type Answer, failure } from "./answers.js";

/** Of a Message-Id and a Batch-Id: characters of printable ASCII. */
const idCharactersMax = 128;
const form = /^[\x20-\x7e]+$/;

/** Null without one; undefined for one that cannot be used. */
export function idOf(header: string | readonly string[] | undefined): string | null | undefined {
  if (header === undefined) return null;
  const isSound = typeof header === "string" && header.length <= idCharactersMax && form.test(header);
  return isSound ? header : undefined;
}

export function badID(header: string): Answer {
  return failure(
    400,
    "PARAMETER_INVALID",
    `${header} is not valid`,
    {},
    {
      [header]: `must have 1 to ${idCharactersMax} characters of printable ASCII`,
    },
  );
}

import { failureAnswer, type UplinkAnswer } from "./answers.js";

/** Longest Message-Id or Batch-Id, in characters of printable ASCII. */
const idCharactersMax = 128;
const form = /^[\x20-\x7e]+$/;

/** Null without one; undefined for one that cannot be used. */
export function parseMessageID(header: string | readonly string[] | undefined): string | null | undefined {
  if (header === undefined) return null;
  const isSound = typeof header === "string" && header.length <= idCharactersMax && form.test(header);
  return isSound ? header : undefined;
}

export function badID(header: string): UplinkAnswer {
  return failureAnswer(
    400,
    "PARAMETER_INVALID",
    `${header} is not valid`,
    {},
    {
      [header]: `must have 1 to ${idCharactersMax} characters of printable ASCII`,
    },
  );
}

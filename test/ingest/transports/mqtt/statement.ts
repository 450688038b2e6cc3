/** How the tables of normative statements say which test shows what. */

/** Where a statement is shown: a test by its file and name, without the version before it. */
export interface Shown {
  readonly file: string;
  readonly name: string;
}

interface NotOffered {
  readonly why: string;
}

/** Number without `MQTT-`, what it asks for in our words, and where that is shown. */
export type Statement = readonly [string, string, Shown | NotOffered | typeof client];

/** It binds clients. */
export const client = "client";

/** It binds servers that offer what we do not, or that lack what we have. */
export const notOffered = (why: string): NotOffered => ({ why });

export const shownBy =
  (file: string) =>
  (name: string): Shown => ({ file: `${file}.ts`, name });

import type { MessageDocument } from "./message-texts.js";

/** What goes to the thread that renders templates, and comes back; plain data. */

/** Liquid templates; null: the built-in text. */
export interface Templates {
  readonly subject: string | null;
  readonly body: string | null;
}

export interface ToRenderer {
  readonly templates: Templates;
  readonly document: MessageDocument;
  /** IANA name, for dates. */
  readonly timezone: string;
}

/** The texts of the templates that are not null, or why there are none. */
export type FromRenderer = Templates | { readonly field: "subject" | "body"; readonly error: string };

/** Characters of a rendered text. */
export const renderedLengthMax = 65_536;

import type { OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";

/** A message as it goes out. */
interface Outgoing {
  /** One line. */
  readonly subject: string;
  readonly body: string;
  /** Stays the same however often it is sent, so that a receiver can tell a repeat. */
  readonly id: string;
}

/** What came of one attempt. */
export interface Outcome {
  readonly isDelivered: boolean;
  /** What the other side said, or why it was not reached. */
  readonly answer: string;
  /** Whether it makes sense to try again. */
  readonly isTransient: boolean;
}

export const delivered = (answer: string): Outcome => ({ isDelivered: true, answer, isTransient: false });
export const refused = (answer: string): Outcome => ({ isDelivered: false, answer, isTransient: false });
export const failed = (answer: string): Outcome => ({ isDelivered: false, answer, isTransient: true });

/** Sends to one kind of contact point; resolves whatever happens, within `sendMs` or soon after. */
export type Send = (point: OpenContactPoint, outgoing: Outgoing) => Promise<Outcome>;

/** Milliseconds that one attempt may take. */
export const sendMs = 15_000;

/** Characters of what the other side said that are kept. */
const answerLengthMax = 1000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const controls = /[\u0000-\u001f\u007f]+/g;

/** One line of text, without what a terminal or a page could take for a command. */
export function tidy(text: string): string {
  return text.replace(controls, " ").trim().slice(0, answerLengthMax);
}

export const reasonOf = (error: unknown): string => {
  const { message, code, errors } = error as { message?: string; code?: string; errors?: unknown[] };
  // Several addresses were tried: the first says it.
  if (message === "" && errors?.[0] !== undefined) return reasonOf(errors[0]);
  return tidy(message || code || String(error));
};

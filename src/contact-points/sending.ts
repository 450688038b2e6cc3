import { orAborted, withDeadline } from "../../store/lib/abortable.js";
import type { OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";

/** A message as it goes out. */
interface Outgoing {
  /** One line. */
  readonly subject: string;
  readonly body: string;
  /** Stays the same at each attempt, so that a receiver can recognise a repeat. */
  readonly id: string;
}

/** The result of one attempt. */
export interface SendOutcome {
  readonly isDelivered: boolean;
  /** What the other side said, or why it was not reached. */
  readonly answer: string;
  /** Whether it makes sense to try again. */
  readonly isTransient: boolean;
  /** Present if a limit of ours kept it from being sent: from when on it may be, in milliseconds since 1970. */
  readonly retryAt?: number;
}

export const delivered = (answer: string): SendOutcome => ({ isDelivered: true, answer, isTransient: false });
export const refuseMessage = (answer: string): SendOutcome => ({
  isDelivered: false,
  answer,
  isTransient: false,
});
export const failed = (answer: string): SendOutcome => ({ isDelivered: false, answer, isTransient: true });

/**
 * Sends to one kind of contact point. Once the signal is aborted, nobody waits for it, and it releases its connection.
 */
export type SendToContactPoint = (
  point: OpenContactPoint,
  outgoing: Outgoing,
  signal: AbortSignal,
) => Promise<SendOutcome>;

/** Milliseconds that one attempt may take. */
const sendMs = 15_000;

/**
 * One attempt to send, which ends in time whatever the other side does.
 * @param ending aborted when the service waits no longer
 */
export function attempt(
  send: (signal: AbortSignal) => Promise<SendOutcome>,
  ending: AbortSignal,
): Promise<SendOutcome> {
  return withDeadline(sendMs, ending, async (signal, isLate) => {
    const outcome = signal.aborted ? undefined : await orAborted(send(signal), signal);
    if (outcome !== undefined) return outcome;
    return failed(isLate() ? `no answer within ${sendMs / 1000} seconds` : "the service was stopped");
  });
}

/** Characters of what the other side said that are kept. */
export const answerLengthMax = 1000;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const controls = /[\u0000-\u001f\u007f]+/g;

/** One line of text, without what a terminal or a page could take for a command. */
export function tidy(text: string): string {
  return text.replace(controls, " ").trim();
}

export const formatSendError = (error: unknown): string => {
  const { message, code, errors } = error as { message?: string; code?: string; errors?: unknown[] };
  // Several addresses were tried: the first says it.
  if (message === "" && errors?.[0] !== undefined) return formatSendError(errors[0]);
  return tidy(message || code || String(error));
};

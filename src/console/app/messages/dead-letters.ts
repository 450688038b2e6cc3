/** Dead letters, as GET /set_aside returns them: each follower of the journal has its own. */
import { call } from "../api.js";
import { t } from "../i18n.js";
import { shownHeaders } from "../shown.js";

export type Follower = "series" | "alerts" | "sessions";

interface DeadLetterRow {
  readonly id: number;
  readonly follower: Follower;
  readonly deviceIntID: number;
  readonly topic: string;
  /** Milliseconds since 1970, as the next one. */
  readonly receivedAt: number;
  readonly asideAt: number;
  readonly reason: string;
}

/** One message, with all that it has had no effect on. */
export interface DeadLetter extends Omit<DeadLetterRow, "follower" | "reason"> {
  readonly parts: readonly { readonly follower: Follower; readonly reason: string }[];
}

/** The newest first. */
export async function fetchDeadLetters(signal: AbortSignal): Promise<readonly DeadLetter[]> {
  const rows = await call<readonly DeadLetterRow[]>("GET", "/set_aside", { headers: shownHeaders(), signal });
  const found = new Map<number, DeadLetter>();
  for (const { follower, reason, ...row } of rows) {
    const parts = [...(found.get(row.id)?.parts ?? []), { follower, reason }];
    found.set(row.id, { ...row, parts });
  }
  return [...found.values()].sort((a, b) => b.id - a.id);
}

/** What the followers bring about, in words. */
export const describeEffects = (of: readonly Follower[]): string =>
  of.map((one) => t(`follower.${one}`)).join(", ");

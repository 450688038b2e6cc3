/** Queries of a page to the API: sent again when they change, cancelled when the page is left. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type ApiFailure, asFailure } from "./api.js";
import { t } from "./i18n.js";
import { linkState } from "./live/link.js";
import { missedAt } from "./live/missed.js";

export interface Query<T> {
  /** The newest answer, which stays while the next one is asked for. */
  readonly data: T | undefined;
  readonly failure: ApiFailure | null;
  readonly isLoading: boolean;
  again(): void;
}

const firstDelayMs = 1000;
const longestDelayMs = 15_000;

/**
 * Asks once more when something may have been missed: after the service was away, for instance.
 * @param key what the query depends on: another key sends it again; null: not visible, and the last answer stays
 * @param everyMs asked again after so long; absent: once
 * @param isLast after this answer it is not asked again; looked at when the key changes
 */
export function useQuery<T>(
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  everyMs?: number,
  isLast: (data: T) => boolean = () => false,
): Query<T> {
  const state = useSignal<Omit<Query<T>, "again">>({
    data: undefined,
    failure: null,
    isLoading: key !== null,
  });
  const round = useSignal(0);
  const asking = useRef(ask);
  asking.current = ask;
  /** The query whose answer is there. */
  const answered = useRef<string | null>(null);

  useEffect(() => {
    const question = `${key} ${round.value} ${missedAt.value}`;
    // A part that becomes visible again with the same query still has its answer.
    if (key === null) return;
    if (everyMs === undefined && answered.current === question) {
      // Queries in between that failed or were cancelled do not matter any more.
      state.value = { ...state.value, failure: null, isLoading: false };
      return;
    }
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let delayMs = firstDelayMs;
    const later = (ms: number): void => {
      timer = setTimeout(() => void run(), ms);
    };
    async function run(): Promise<void> {
      state.value = { ...state.value, isLoading: true };
      try {
        const data = await asking.current(stop.signal);
        if (stop.signal.aborted) return;
        answered.current = question;
        state.value = { data, failure: null, isLoading: false };
        delayMs = firstDelayMs;
        if (everyMs !== undefined && !isLast(data)) later(everyMs);
      } catch (error) {
        if (stop.signal.aborted) return;
        const failure = asFailure(error);
        state.value = { ...state.value, failure, isLoading: false };
        // What may pass by itself is asked again, and the page says that it is.
        if (!failure.isTransient) return;
        later(Math.max(delayMs, (failure.retryAfter ?? 0) * 1000));
        delayMs = Math.min(delayMs * 2, longestDelayMs);
      }
    }
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, round.value, everyMs, missedAt.value]);

  return { ...state.value, again: () => round.value++ };
}

interface AnswerProps<T> {
  readonly asked: Query<T>;
  /** It is a small part of a page, such as a panel. */
  readonly isPart?: boolean;
  readonly children: (data: T) => ComponentChildren;
}

/** The banner of every page says that the service is away: a page that has something to show does not say so again. */
const isSaidAbove = ({ isAway }: ApiFailure): boolean => isAway && linkState.value === "away";

interface FailureProps {
  readonly failure: ApiFailure;
  readonly isPart?: boolean;
  again(): void;
}

/** Why there is no answer, or none that is newer, and a button that asks again. */
export function Failure({ failure, isPart = false, again }: FailureProps) {
  return (
    <p class={`notice ${isPart ? "small" : ""} ${failure.isTransient ? "warn" : "bad"}`} role="alert">
      {isPart ? explainBriefly(failure) : explainFailure(failure)}{" "}
      <button type="button" class={isPart ? "button quiet" : "button"} onClick={again}>
        {t("state.retry")}
      </button>
    </p>
  );
}

/** Shows the result of a query: the answer, why there is none, or that it is loading. */
export function QueryResult<T>({
  asked: { data, failure, isLoading, again },
  isPart = false,
  children,
}: AnswerProps<T>) {
  const isShown = failure !== null && (isPart || data === undefined || !isSaidAbove(failure));
  return (
    <>
      {isShown && <Failure failure={failure} isPart={isPart} again={again} />}
      {data !== undefined && children(data)}
      {data === undefined && failure === null && isLoading && (
        <p class="muted" aria-busy="true">
          {t("state.loading")}
        </p>
      )}
    </>
  );
}

function explainFailure({ status, isAway, message }: ApiFailure): string {
  if (status === 404) return t("state.notFound");
  return isAway ? t("state.away") : t("state.failed", { reason: message });
}

const explainBriefly = ({ status, message, fields }: ApiFailure): string =>
  status === 0 ? t("state.away") : [message, ...Object.values(fields)].join(": ");

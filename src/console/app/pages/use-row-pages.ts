/** Pages of a long table, fetched when they come into sight; what has left it again is given up. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type ApiFailure, asFailure } from "../api.js";

interface RowPages<Row> {
  /** Absent: it is on its way, or has failed. */
  pageOf(page: number): readonly Row[] | undefined;
  /** Why what is in sight is not there; asked for again by itself where that may help. */
  readonly failure: ApiFailure | null;
  again(): void;
}

/** A user who drags the scroll bar passes many pages, and wants none of them. */
const restMs = 60;
const retryMs = 3000;

/** @param first the first page; when it is fetched again, the other pages are outdated too */
export function useRowPages<Row>(
  first: readonly Row[],
  wanted: readonly number[],
  fetchPage: (page: number, signal: AbortSignal) => Promise<readonly Row[]>,
): RowPages<Row> {
  const pages = useSignal<ReadonlyMap<number, readonly Row[]>>(new Map([[0, first]]));
  const failure = useSignal<ApiFailure | null>(null);
  const round = useSignal(0);
  const underWay = useRef(new Map<number, AbortController>());
  const missedAt = useRef(Number.NEGATIVE_INFINITY);

  function giveUp(isPast: (page: number) => boolean): void {
    for (const [page, stop] of underWay.current) {
      if (!isPast(page)) continue;
      stop.abort();
      underWay.current.delete(page);
    }
  }

  async function ask(page: number): Promise<void> {
    const stop = new AbortController();
    underWay.current.set(page, stop);
    try {
      const rows = await fetchPage(page, stop.signal);
      if (stop.signal.aborted) return;
      pages.value = new Map([...pages.value, [page, rows]]);
      failure.value = null;
    } catch (error) {
      if (!stop.signal.aborted) failure.value = asFailure(error);
    } finally {
      if (underWay.current.get(page) === stop) underWay.current.delete(page);
    }
  }

  useEffect(() => {
    giveUp(() => true);
    pages.value = new Map([[0, first]]);
  }, [first]);

  useEffect(() => {
    giveUp((page) => !wanted.includes(page));
    const missing = wanted.filter((page) => !pages.value.has(page) && !underWay.current.has(page));
    if (missing.length === 0) return;
    const now = performance.now();
    const isPassing = now - missedAt.current < restMs;
    missedAt.current = now;
    const askAll = (): void => {
      for (const page of missing) void ask(page);
    };
    if (!isPassing) return askAll();
    const timer = setTimeout(askAll, restMs);
    return () => clearTimeout(timer);
  }, [first, wanted.join(), round.value]);

  const failed = failure.value;
  useEffect(() => {
    if (failed?.isTransient !== true) return;
    const timer = setTimeout(() => round.value++, Math.max(retryMs, (failed.retryAfter ?? 0) * 1000));
    return () => clearTimeout(timer);
  }, [failed]);

  useEffect(() => () => giveUp(() => true), []);

  return {
    pageOf: (page) => pages.value.get(page),
    failure: failed,
    again: () => round.value++,
  };
}

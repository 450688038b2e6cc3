/** For how long the oldest record that cannot be read yet has been on disk. */
export interface JournalLag {
  /** To be called after each commit. */
  committed(): void;
  readonly seconds: number;
}

interface JournalLagSources {
  readonly committedID: () => number;
  readonly settledID: () => number;
  /** Milliseconds; never set. */
  readonly monotonic: () => number;
}

/** Commits that are counted separately; if there are more, neighbours count as one, with the earlier one's time. */
const spansMax = 64;
/** Commits of so short a time count as one, while little is behind. */
const spanMsMin = 10;

export function createJournalLag({ committedID, settledID, monotonic }: JournalLagSources): JournalLag {
  let spanMs = spanMsMin;
  /** Ascending: records up to `id` that were committed from `at` on. */
  let spans: { id: number; readonly at: number }[] = [{ id: committedID(), at: monotonic() }];

  function dropSettled(): void {
    const settled = settledID();
    const open = spans.findIndex(({ id }) => id > settled);
    if (open !== 0) spans = open < 0 ? [] : spans.slice(open);
    if (spans.length === 0) spanMs = spanMsMin;
  }

  return {
    committed: () => {
      dropSettled();
      const [id, at] = [committedID(), monotonic()];
      const last = spans.at(-1);
      if (last !== undefined && at - last.at < spanMs) last.id = id;
      else spans.push({ id, at });
      if (spans.length <= spansMax) return;
      spanMs = (2 * (at - (spans[0]?.at ?? at))) / spansMax;
      spans = spans.flatMap((span, i) => {
        const next = spans[i + 1];
        return i % 2 === 0 ? [{ id: next?.id ?? span.id, at: span.at }] : [];
      });
    },
    get seconds() {
      dropSettled();
      const [oldest] = spans;
      return oldest === undefined ? 0 : (monotonic() - oldest.at) / 1000;
    },
  };
}

/** Values for empty windows. */
export const fills = ["none", "zero", "previous", "linear"] as const;
type Fill = (typeof fills)[number];

export interface Filling {
  readonly how: Fill;
  /** When the query is made, microseconds: windows that begin later are not filled by what came before. */
  readonly now: number;
}

interface Filled {
  /** Indexes of the windows in the answer. */
  readonly windows: readonly number[];
  readonly values: readonly (number | null)[];
}

type Filler = (times: readonly number[], values: readonly (number | null)[]) => readonly (number | null)[];

/** zero puts 0; previous repeats the value before; linear draws a line between the neighbours. */
const fillers: Readonly<Record<Exclude<Fill, "none">, Filler>> = {
  zero: (_times, values) => values.map((value) => value ?? 0),
  previous: (_times, values) => {
    let last: number | null = null;
    return values.map((value) => {
      last = value ?? last;
      return last;
    });
  },
  linear: interpolate,
};

/**
 * Without a fill, empty windows stay null; `none` drops them; gaps that lack the neighbours they need stay null, and so
 * does a window that has not begun, but for `zero`. `times` are the windows' starts in microseconds.
 */
export function fillWindows(
  filling: Filling | null,
  times: readonly number[],
  values: readonly (number | null)[],
): Filled {
  const all = values.map((_, i) => i);
  if (filling === null) return { windows: all, values };
  const { how, now } = filling;
  if (how !== "none") {
    const filled = fillers[how](times, values);
    const isFilled = (i: number) => how === "zero" || (times[i] as number) <= now;
    return { windows: all, values: values.map((value, i) => (isFilled(i) ? (filled[i] ?? null) : value)) };
  }
  const windows = all.filter((i) => values[i] !== null);
  return { windows, values: windows.map((i) => values[i] ?? null) };
}

function interpolate(times: readonly number[], values: readonly (number | null)[]): (number | null)[] {
  const filled = [...values];
  let before = -1;
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const first = values[before];
    if (before >= 0 && first !== null && first !== undefined) {
      const from = times[before] as number;
      const span = (times[at] as number) - from;
      for (let gap = before + 1; gap < at; gap++) {
        filled[gap] = first + ((value - first) * ((times[gap] as number) - from)) / span;
      }
    }
    before = at;
  }
  return filled;
}

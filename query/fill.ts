/** What stands for an empty window. */
export const fills = ["none", "zero", "previous", "linear"] as const;
export type Fill = (typeof fills)[number];

export interface Filled {
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
}

type Filler = (times: readonly number[], values: readonly (number | null)[]) => Filled;

/** none drops the window; zero puts 0; previous repeats the value before; linear draws a line between neighbours. */
const fillers: Readonly<Record<Fill, Filler>> = {
  none: (times, values) => {
    const kept = values.flatMap((value, i) => (value === null ? [] : [i]));
    return { times: kept.map((i) => times[i] as number), values: kept.map((i) => values[i] as number) };
  },
  zero: (times, values) => ({ times, values: values.map((value) => value ?? 0) }),
  previous: (times, values) => {
    let last: number | null = null;
    return {
      times,
      values: values.map((value) => {
        last = value ?? last;
        return last;
      }),
    };
  },
  linear: (times, values) => ({ times, values: interpolate(times, values) }),
};

/** Without a fill empty windows stay null; gaps without a neighbour on either side stay null too. */
export function fillWindows(
  fill: Fill | null,
  times: readonly number[],
  values: readonly (number | null)[],
): Filled {
  return fill === null ? { times, values } : fillers[fill](times, values);
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

import { textBytes } from "../store/lib/text-bytes.js";
import type { Columns, SeriesReader, SeriesRef } from "../store/series/series.js";
import { downsample, thin } from "./downsample.js";
import { type Range, toBounds } from "./range.js";

type OriginalValue = number | string | boolean | readonly number[];

/** Points of one series in an answer, and whether there were more. Times in microseconds. */
interface OriginalData {
  readonly times: Float64Array;
  /** Makes the values of the points [from, to) when called. */
  readonly values: (from: number, to: number) => OriginalValue[];
  /** The size of its texts in bytes, and the characters of the longest. */
  readonly texts: { readonly bytes: number; readonly longest: number };
  readonly truncated: boolean;
}

/** How a stored value is shown: booleans as true and false, places as arrays. */
export type OriginalForm = "number" | "boolean" | "text" | "place";

/** How many points are wanted. */
interface OriginalSize {
  /** How many of the range's newest points; null: as `maxPoints` says, or the default. */
  readonly limit: number | null;
  readonly limitDefault: number;
  /** Thins the whole range to this many points; null for no thinning. */
  readonly maxPoints: number | null;
  /** For each series of texts, the newest bytes to return, beyond the first point. */
  readonly textBytesMax: number;
}

/** A series of one device and how it is shown. */
interface OriginalSeries {
  readonly series: SeriesRef;
  readonly form: OriginalForm;
}

/**
 * The points of the range of some series of one device, ascending: the newest `limit`, or `maxPoints` that stand for
 * all of them; of texts fewer if they reach their bound in bytes.
 * @throws StoreError of the first series that cannot be read
 */
export async function originalData(
  store: SeriesReader,
  asked: readonly OriginalSeries[],
  range: Range,
  { limit, limitDefault, maxPoints, textBytesMax }: OriginalSize,
): Promise<OriginalData[]> {
  const thinned = maxPoints !== null && limit === null && range.newest === undefined ? maxPoints : null;
  const most = range.newest ?? limit ?? limitDefault;
  // Reads one more than wanted, to know whether something was cut; the default count of newest points needs no check.
  const wanted = range.newest === undefined ? most + 1 : most;
  const inStore = thinned !== null ? asked.filter(({ series }) => series.kind === "text") : asked;
  const read = await store.readNewest(
    inStore.map(({ series }) => series),
    { ...toBounds(range), bytesMax: textBytesMax },
    wanted,
  );
  const newest = new Map(inStore.map((one, i) => [one, read[i]]));
  const answers: OriginalData[] = [];
  for (const one of asked) {
    const columns = newest.get(one);
    if (columns instanceof Error) throw columns;
    if (columns !== undefined) {
      const cut = columns.times.length < wanted && (await isCut(store, one.series, range, columns));
      answers.push(newestShown(one.form, columns, { most, maxPoints, cut }));
    } else if (thinned !== null)
      answers.push(shownAs(one.form, await downsample(store, one.series, range, thinned), false));
  }
  return answers;
}

/** Whether there are points before the texts that reached the bound in bytes. */
async function isCut(
  store: Pick<SeriesReader, "read">,
  series: SeriesRef,
  range: Range,
  columns: Columns,
): Promise<boolean> {
  if (columns.kind !== "text" || columns.cut !== true) return false;
  const [stop = 0] = columns.times;
  return (await store.read(series, { ...toBounds(range), stop, newest: 1 })).times.length > 0;
}

function newestShown(
  form: OriginalForm,
  columns: Columns,
  {
    most,
    maxPoints,
    cut,
  }: { readonly most: number; readonly maxPoints: number | null; readonly cut: boolean },
): OriginalData {
  const isLonger = columns.times.length > most;
  const truncated = cut || isLonger;
  const newest = isLonger ? fromIndex(columns, columns.times.length - most) : columns;
  return shownAs(form, maxPoints === null ? newest : thin(newest, maxPoints), truncated);
}

function fromIndex(columns: Columns, from: number): Columns {
  const times = columns.times.subarray(from);
  return columns.kind === "text"
    ? { kind: columns.kind, times, values: columns.values.slice(from) }
    : { kind: columns.kind, times, values: columns.values.subarray(from) };
}

function shownAs(form: OriginalForm, { times, values }: Columns, truncated: boolean): OriginalData {
  const some = (from: number, to: number) =>
    Array.from(values.slice(from, to) as ArrayLike<number | string>, shown[form]);
  const texts = { bytes: 0, longest: 0 };
  for (const value of values) {
    if (typeof value !== "string") break;
    texts.bytes += textBytes(value);
    texts.longest = Math.max(texts.longest, value.length);
  }
  return { times, values: some, texts, truncated };
}

const shown: Readonly<Record<OriginalForm, (value: number | string) => OriginalValue>> = {
  number: (value) => value,
  boolean: (value) => value === 1,
  text: (value) => value,
  place: (value) => JSON.parse(String(value)) as readonly number[],
};

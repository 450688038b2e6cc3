/** What InfluxDB computes from points without sending them: arithmetic, and the extremes that a line shows. */
import { type Arithmetic, computeOne, findDirection } from "../arithmetic.js";
import { selectExtremes } from "../extremes.js";
import type {
  Aggregate,
  ArithmeticAnswer,
  ArithmeticQuery,
  Columns,
  ExtremesQuery,
  Kind,
} from "../series.js";
import type { InfluxReader } from "./client.js";
import { parseRows } from "./csv.js";
import { fluxArithmetic, fluxEdgePoint, fluxExtremes } from "./flux.js";
import { aggregateWindows, lastPoint, readColumns } from "./reading.js";
import { timeMax, timeMin } from "./times.js";

/** For these, one result that is not finite makes its window's value not finite, so that it is always noticed. */
const betraying: ReadonlySet<Aggregate> = new Set(["mean", "sum"]);

/** The arithmetic is in the query once for each run of windows, with numbers written out in full. */
const fluxCharactersMax = 4_000;

/** An aggregate of a falling arithmetic → the aggregate of the values that gives it. */
const mirrored: Readonly<Partial<Record<Aggregate, Aggregate>>> = { max: "min", min: "max" };

/**
 * Means and sums are taken over the arithmetic that Flux computes for each point; the other aggregates of a rising or
 * falling arithmetic are the arithmetic of the values' aggregates. Null where a result is not finite, and in all other
 * cases: Flux filters a hundred times slower than it computes.
 */
export async function aggregateArithmetic(
  client: InfluxReader,
  bucket: string,
  query: ArithmeticQuery,
): Promise<ArithmeticAnswer | null> {
  const { arithmetic, aggregate } = query;
  if (fluxArithmetic(arithmetic).length > fluxCharactersMax) return null;
  if (betraying.has(aggregate)) {
    const values = await aggregateWindows(client, bucket, query, arithmetic);
    return values.every((value) => value === null || Number.isFinite(value)) ? { values, errors: 0 } : null;
  }
  const direction = findDirection(arithmetic);
  if (direction === null || aggregate === "increase") return null;
  const directed = direction < 0 ? (mirrored[aggregate] ?? aggregate) : aggregate;
  const [values, sound] = await Promise.all([
    aggregateWindows(client, bucket, { ...query, aggregate: directed }),
    isFiniteThroughout(client, bucket, query),
  ]);
  if (!sound) return null;
  const result = (value: number | null) =>
    value === null || aggregate === "count" ? value : computeOne(arithmetic, value);
  return { values: values.map(result), errors: 0 };
}

/** For a rising or falling arithmetic the results at the lowest and the highest value are enough. */
async function isFiniteThroughout(
  client: InfluxReader,
  bucket: string,
  { series, edges, arithmetic }: ArithmeticQuery,
): Promise<boolean> {
  const span = clamped(edges[0] ?? 0, edges.at(-1) ?? 0);
  if (span.start >= span.stop) return true;
  // A boolean is 0 or 1.
  if (series.kind === "boolean") return [0, 1].every((value) => hasResult(arithmetic, value));
  const ends = await Promise.all(
    (["min", "max"] as const).map((end) =>
      readPoints(client, series.kind, fluxEdgePoint(bucket, series, span.start, span.stop, end)),
    ),
  );
  return ends.flat().every(([, value]) => hasResult(arithmetic, value));
}

const hasResult = (arithmetic: Arithmetic, value: number): boolean =>
  Number.isFinite(computeOne(arithmetic, value));

/** Counted first: the engine finds a window's extremes slower than it sends a few points. */
export async function extremesOrAll(
  client: InfluxReader,
  bucket: string,
  query: ExtremesQuery,
): Promise<Columns> {
  const { series, exactMax } = query;
  const { start, stop } = clamped(query.start, query.stop);
  const { kind } = series;
  if (kind === "text") return { kind, times: new Float64Array(0), values: [] };
  if (start >= stop) return selectExtremes(kind, []);
  const calendar = { unit: "year", timezone: "UTC" } as const;
  const all = { series, edges: [start, stop], calendar, aggregate: "count" } as const;
  const [count] = await aggregateWindows(client, bucket, all);
  if ((count ?? 0) <= exactMax) return readColumns(client, bucket, series, { start, stop });
  return selectExtremes(
    kind,
    await readExtremes(client, bucket, { series, start, stop, width: query.width }),
  );
}

/** In no order. */
async function readExtremes(
  client: InfluxReader,
  bucket: string,
  { series, ...span }: Omit<ExtremesQuery, "exactMax">,
): Promise<(readonly [number, number])[]> {
  const queries = [
    fluxEdgePoint(bucket, series, span.start, span.stop, "first"),
    fluxExtremes(bucket, series, span, "min"),
    fluxExtremes(bucket, series, span, "max"),
  ];
  const [last, ...parts] = await Promise.all([
    lastPoint(client, bucket, series, span),
    ...queries.map((flux) => readPoints(client, series.kind, flux)),
  ]);
  const ends = Array.from(last.times, (time, i) => [time, Number(last.values[i])] as const);
  return [...parts.flat(), ...ends];
}

async function readPoints(
  client: InfluxReader,
  kind: Kind,
  flux: string,
): Promise<(readonly [number, number])[]> {
  const points: (readonly [number, number])[] = [];
  await parseRows(client.query(flux), kind, (time, value) => {
    points.push([time, Number(value)]);
  });
  return points;
}

function clamped(start: number, stop: number): { start: number; stop: number } {
  return { start: Math.max(start, timeMin), stop: Math.min(stop, timeMax + 1) };
}

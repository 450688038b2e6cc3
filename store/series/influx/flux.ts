/**
 * Builds Flux text and does nothing else. Times are integer microseconds; every value from outside goes through
 * `fluxString`, so no identifier can break out of its literal.
 */

import type { Arithmetic } from "../arithmetic.js";
import type { Aggregate, SeriesRef } from "../series.js";
import { influxName } from "./names.js";
import { timeMax, timeMin } from "./times.js";
import type { WindowRun } from "./windows.js";

/** Aggregates that Flux computes; `increase` needs the point before the range and is computed from the points. */
type FluxAggregate = Exclude<Aggregate, "increase">;

/** Which points of a range to answer. The limits are Flux's own, which apply after the range is read. */
export interface FluxLimit {
  readonly from: "newest" | "oldest";
  readonly pointsMax: number;
}

/** Shards begin at whole hours. */
export const hourMicros = 3_600_000_000;

const pair = '|> keep(columns: ["_time", "_value"])';
// CSV answers lose carriage returns; JSON text holds every character, and no line break within a row.
const jsonValues = "|> map(fn: (r) => ({r with _value: string(v: json.encode(v: r._value))}))";
const jsonImport = 'import "json"\n';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must be escaped
const hexEscaped = /[\u0000-\u001f\u007f$]/g;

/** A string literal that reads back as `text`. Every $ is escaped: the lexer stumbles over "$\\${" as well. */
export function fluxString(text: string): string {
  const quoted = text.replace(/["\\]/g, "\\$&");
  return `"${quoted.replace(hexEscaped, (char) => `\\x${formatHex(char)}`)}"`;
}

/** A time literal; times beyond the range of InfluxDB's clock become its first or last time. */
export function fluxTime(time: number): string {
  const clamped = Math.min(Math.max(time, timeMin), timeMax + 1);
  const seconds = Math.floor(clamped / 1e6);
  const micros = String(clamped - seconds * 1e6).padStart(6, "0");
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${micros}Z`;
}

/** Asks the bucket for its very first microsecond, which is next to nothing. */
export function fluxFirstMoment(bucket: string): string {
  return head(bucket, timeMin, timeMin + 1);
}

/** The points of a series in [start, stop), columns _time and _value; text as JSON. */
export function fluxRead(
  bucket: string,
  series: SeriesRef,
  start: number,
  stop: number,
  limit?: FluxLimit,
): string {
  const text = series.kind === "text";
  const take = limit ? `\n  |> ${limit.from === "newest" ? "tail" : "limit"}(n: ${limit.pointsMax})` : "";
  return `${text ? jsonImport : ""}${source(bucket, series, start, stop)}${take}
  ${pair}${text ? `\n  ${jsonValues}` : ""}`;
}

/**
 * The newest `rowsMax` points in [start, stop) of each series, all of one device: columns _time, _value, _field; one
 * yield a kind, text as JSON.
 */
export function fluxFields(
  bucket: string,
  series: readonly SeriesRef[],
  start: number,
  stop: number,
  rowsMax: number,
): string {
  return ofKinds(series, (chosen) => [fieldsIn(bucket, chosen, start, stop, `tail(n: ${rowsMax})`)]);
}

/**
 * The newest point in [start, stop) of each series of one device, as `fluxFields`. The storage engine's own `last` also
 * looks into the shard that begins where the range ends, so the microsecond before that is asked for separately.
 */
export function fluxLastOfFields(
  bucket: string,
  series: readonly SeriesRef[],
  start: number,
  stop: number,
): string {
  const alone = stop % hourMicros === 0 && stop - start >= 2;
  return ofKinds(series, (chosen) =>
    alone
      ? [
          fieldsIn(bucket, chosen, start, stop - 1, "last()"),
          fieldsIn(bucket, chosen, stop - 1, stop, "tail(n: 1)"),
        ]
      : [fieldsIn(bucket, chosen, start, stop, "last()")],
  );
}

/** The yields of each kind, one after another: rows come in this order. */
function ofKinds(
  series: readonly SeriesRef[],
  partsOf: (chosen: readonly SeriesRef[]) => readonly string[],
): string {
  const kinds = [...new Set(series.map((ref) => ref.kind))];
  const yields = kinds.flatMap((kind) =>
    partsOf(series.filter((ref) => ref.kind === kind)).map(
      (part, i) => `${part}${kind === "text" ? `\n  ${jsonValues}` : ""}\n  |> yield(name: "${kind}${i}")`,
    ),
  );
  return `${kinds.includes("text") ? jsonImport : ""}${yields.join("\n")}`;
}

function fieldsIn(
  bucket: string,
  series: readonly SeriesRef[],
  start: number,
  stop: number,
  take: string,
): string {
  const { productID = "", deviceID = "" } = series[0] ?? {};
  const of = `${equals("_measurement", productID)} and ${equals("device", deviceID)}`;
  const fields = formatAny(
    "_field",
    series.map(({ field }) => field),
  );
  return `${head(bucket, start, stop)}
  |> filter(fn: (r) => ${of} and ${fields})
  |> ${take}
  |> keep(columns: ["_time", "_value", "_field"])`;
}

/**
 * The first, last, lowest or highest point of a series in [start, stop). The storage engine finds the first two without
 * reading the rest, and the other two without help from Flux.
 */
export function fluxEdgePoint(
  bucket: string,
  series: SeriesRef,
  start: number,
  stop: number,
  end: "first" | "last" | "min" | "max",
): string {
  const text = series.kind === "text";
  return `${text ? jsonImport : ""}${source(bucket, series, start, stop)}
  |> ${end}()
  ${pair}${text ? `\n  ${jsonValues}` : ""}`;
}

/**
 * One row for each window that is not empty: its start as _time, and its value. Offsets are never negative and less
 * than the width: the storage engine computes no others itself, and larger ones hang the server.
 */
export function fluxAggregate(
  bucket: string,
  series: SeriesRef,
  runs: readonly WindowRun[],
  fn: FluxAggregate,
  arithmetic?: Arithmetic,
): string {
  const parts = runs.map((run) => aggregatePart(bucket, series, run, fn, arithmetic));
  return parts.length === 1 ? (parts[0] ?? "") : `union(tables: [\n${parts.join(",\n")},\n])`;
}

/** The lowest or highest point of each bucket [k × width, (k + 1) × width), the earlier of equal ones. */
export function fluxExtremes(
  bucket: string,
  series: SeriesRef,
  range: { readonly start: number; readonly stop: number; readonly width: number },
  end: "min" | "max",
): string {
  const toFloat = series.kind === "boolean" ? "\n  |> toFloat()" : "";
  return `${source(bucket, series, range.start, range.stop)}${toFloat}
  |> window(every: ${range.width}us)
  |> ${end}()
  ${pair}`;
}

/**
 * Arithmetic on r._value. Every number is a literal: Flux computes whole columns at once with literals, and a
 * hundred times slower with names or calls.
 */
export function fluxArithmetic(arithmetic: Arithmetic): string {
  switch (arithmetic.kind) {
    case "value":
      return "r._value";
    case "number":
      return fluxFloat(arithmetic.value);
    case "operation":
      return `(${fluxArithmetic(arithmetic.left)} ${arithmetic.operator} ${fluxArithmetic(arithmetic.right)})`;
  }
}

/** The shortest digits that read back as the number, without an exponent: Flux has none. */
function fluxFloat(value: number): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction).padEnd(point, "0").padStart(whole.length + fraction.length - point, "0");
  const at = Math.max(point, 0);
  const text = `${digits.slice(0, at) || "0"}.${digits.slice(at) || "0"}`;
  return sign === "" ? text : `(${sign}${text})`;
}

/**
 * Fails with the name of the type that a field has in the shard of `time`, where that type has no mean; else answers
 * nothing. The type comes from the shard's index: no point is read.
 */
export function fluxFieldType(bucket: string, productID: string, field: string, time: number): string {
  return `${head(bucket, time, time + 1)}
  |> filter(fn: (r) => ${equals("_measurement", productID)} and ${equals("_field", field)})
  |> mean()`;
}

/** One row where the measurement has any point, of any type, in [start, stop): column _time. */
export function fluxAnyPoint(bucket: string, productID: string, start: number, stop: number): string {
  return `${head(bucket, start, stop)}
  |> filter(fn: (r) => ${equals("_measurement", productID)})
  |> first()
  |> keep(columns: ["_time"])
  |> group()
  |> limit(n: 1)`;
}

/**
 * The newest point from `start` on of each series: columns _time, _value, _measurement, device, _field; one yield a
 * kind.
 */
export function fluxLatest(bucket: string, series: readonly SeriesRef[], start: number): string {
  const columns = '|> keep(columns: ["_time", "_value", "_measurement", "device", "_field"])';
  const kinds = [...new Set(series.map((ref) => ref.kind))];
  const yields = kinds.map((kind) => {
    const chosen = series.filter((ref) => ref.kind === kind);
    return `${head(bucket, start, timeMax + 1)}
  |> filter(fn: (r) => ${latestPredicate(chosen)})
  |> last()
  ${columns}${kind === "text" ? `\n  ${jsonValues}` : ""}
  |> yield(name: "${kind}")`;
  });
  return `${kinds.includes("text") ? jsonImport : ""}${yields.join("\n")}`;
}

/** The devices of a product among those named that have points: column _value. The index answers, no point is read. */
export function fluxDevicesWithPoints(
  bucket: string,
  productID: string,
  deviceIDs: readonly string[],
): string {
  return `import "influxdata/influxdb/schema"
schema.tagValues(
  bucket: ${fluxString(bucket)}, tag: "device", start: ${fluxTime(timeMin)}, stop: ${fluxTime(timeMax + 1)},
  predicate: (r) => ${equals("_measurement", productID)} and ${formatAny("device", deviceIDs)},
)`;
}

/** The bounds of a deletion of everything before `time`; the delete API includes its stop, so that ends in 999 ns. */
export function deleteRange(time: number): { start: string; stop: string } {
  return { start: fluxTime(timeMin), stop: fluxTime(time - 1).replace("Z", "999Z") };
}

/** The delete API's predicate for every point of a device. */
export function deletePredicate(productID: string, deviceID: string): string {
  return `_measurement=${predicateString(productID)} AND device=${predicateString(deviceID)}`;
}

function aggregatePart(
  bucket: string,
  series: SeriesRef,
  run: WindowRun,
  fn: FluxAggregate,
  arithmetic?: Arithmetic,
): string {
  const points = source(bucket, series, run.start, run.stop);
  const asIs = arithmetic === undefined && untyped.has(fn);
  const before = series.kind === "boolean" && !asIs;
  const after = fn === "count" || (series.kind === "boolean" && asIs);
  const toFloat = "\n  |> toFloat()";
  const map = arithmetic ? `\n  |> map(fn: (r) => ({r with _value: ${fluxArithmetic(arithmetic)}}))` : "";
  const every = run.calendar ?? `${run.width}us`;
  const windows =
    `aggregateWindow(every: ${every}, offset: ${run.phase}us, fn: ${fn}, ` +
    'createEmpty: false, timeSrc: "_start")';
  return `${points}${before ? toFloat : ""}${map}\n  |> ${windows}\n  ${pair}${after ? toFloat : ""}`;
}

/** The storage engine computes these over booleans as they are; only the few results become numbers. */
const untyped: ReadonlySet<FluxAggregate> = new Set(["first", "last", "count"]);

function source(bucket: string, series: SeriesRef, start: number, stop: number): string {
  return `${head(bucket, start, stop)}\n  |> filter(fn: (r) => ${predicate(series)})`;
}

function head(bucket: string, start: number, stop: number): string {
  return `from(bucket: ${fluxString(bucket)})
  |> range(start: ${fluxTime(start)}, stop: ${fluxTime(stop)})`;
}

function predicate({ productID, deviceID, field }: SeriesRef): string {
  return [equals("_measurement", productID), equals("device", deviceID), equals("_field", field)].join(
    " and ",
  );
}

/**
 * Devices that are asked for the same fields share a term: the engine tries every term on every series, so one term
 * for each series would take ten times as long.
 */
function latestPredicate(series: readonly SeriesRef[]): string {
  const fieldsByDevice = groupBy(
    series,
    (ref) => `${equals("_measurement", ref.productID)}\n${ref.deviceID}`,
  );
  const shapes = groupBy([...fieldsByDevice.entries()], ([key, refs]) =>
    [
      key.split("\n")[0],
      formatAny(
        "_field",
        refs.map((ref) => ref.field),
      ),
    ].join(" and "),
  );
  const terms = [...shapes].map(([shape, members]) => {
    const devices = members.flatMap(([, refs]) => refs.slice(0, 1).map((ref) => ref.deviceID));
    return `(${shape} and ${formatAny("device", devices)})`;
  });
  return terms.join(" or ");
}

function formatAny(column: string, names: readonly string[]): string {
  return `(${joinTerms([...new Set(names)].map((name) => equals(column, name)))})`;
}

/** Joined in pairs: the server refuses a chain of some two hundred as nested too deeply. */
function joinTerms(terms: readonly string[]): string {
  if (terms.length <= 16) return terms.join(" or ");
  const half = terms.length >> 1;
  return `(${joinTerms(terms.slice(0, half))}) or (${joinTerms(terms.slice(half))})`;
}

function equals(column: string, name: string): string {
  return `r.${column} == ${fluxString(influxName(name))}`;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function predicateString(name: string): string {
  return `"${influxName(name).replace(/"/g, '\\"')}"`;
}

function formatHex(char: string): string {
  return char.charCodeAt(0).toString(16).padStart(2, "0");
}

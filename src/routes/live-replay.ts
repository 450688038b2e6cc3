import { type LiveEvent, liveEvent } from "../../ingest/live/log.js";
import { StoreError } from "../../store/lib/errors.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { toSeriesKind } from "../../store/metadata/products/data-points.js";
import type { Columns, SeriesReader, SeriesRef } from "../../store/series/series.js";
import type { AppDeps } from "./deps.js";

/** Points from the store for a client that was away for longer than events are held. */
const replayPointsMax = 10_000;
const replayBytesMax = 1 << 20;
/** Text series that are read together: each may hold one point that is longer than its share. */
const textsTogether = 16;

const issueOnly = 2;

/** A data point and its series. */
interface ReplayedPoint {
  readonly field: string;
  readonly ref: SeriesRef;
}

interface Replayed {
  /** Ascending by time, all numbered 0: a client that disconnects among them asks the store again. */
  readonly events: readonly LiveEvent[];
  /** The reasons why data points are missing among them. */
  readonly untold: readonly string[];
}

/**
 * The newest points of a device after a time, each data point within its share of the limits: numbers together, texts a
 * few series at a time, by their bytes. A point that is being stored meanwhile may come twice. The feed continues
 * without a data point that the store cannot read.
 * @param signal ends the reads once nobody waits for the answer any more. @throws StoreError UNAVAILABLE, then too
 */
export async function newestSince(
  { catalog, series, refs }: Pick<AppDeps, "catalog" | "series" | "refs">,
  device: DeviceRef,
  time: number,
  signal: AbortSignal,
): Promise<Replayed> {
  const store = series.under(signal);
  const { points } = await catalog.model(device.productIntID);
  const asked = points
    .filter((point) => point.dataTransType !== issueOnly)
    .map(({ field, pointDataType }) => ({
      field,
      ref: refs.of(device, { field, kind: toSeriesKind(pointDataType) }),
    }));
  const texts = asked.filter(({ ref }) => ref.kind === "text");
  const numbers = asked.filter(({ ref }) => ref.kind !== "text");
  const groups = [numbers];
  for (let from = 0; from < texts.length; from += textsTogether) {
    groups.push(texts.slice(from, from + textsTogether));
  }
  const left = { points: replayPointsMax, bytes: replayBytesMax };
  let rest = asked.length;
  const events: LiveEvent[] = [];
  const untold: string[] = [];
  for (const group of groups) {
    if (group.length === 0) continue;
    // The share that earlier ones have left goes to the others.
    const part = (whole: number) => Math.max(1, Math.floor(whole / rest));
    const most = { points: part(left.points), bytes: part(left.bytes) };
    const told = await readNewest(store, group, time + 1, most);
    for (const one of told.values()) {
      if (one instanceof StoreError) untold.push(one.message);
      else for (const event of one) events.push(event);
    }
    rest -= group.length;
    left.points = replayPointsMax - events.length;
    left.bytes = replayBytesMax - events.reduce((sum, event) => sum + event.bytes, 0);
  }
  return { events: events.sort((a, b) => a.time - b.time), untold };
}

interface Most {
  readonly points: number;
  readonly bytes: number;
}

/** The newest events of each data point, newest first; if some have few, those with more are read again. */
async function readNewest(
  store: Pick<SeriesReader, "readNewest">,
  group: readonly ReplayedPoint[],
  start: number,
  most: Most,
): Promise<Map<ReplayedPoint, LiveEvent[] | StoreError>> {
  const told = new Map<ReplayedPoint, LiveEvent[] | StoreError>();
  const cutOff = new Set<ReplayedPoint>();
  const ask = async (some: readonly ReplayedPoint[], { points, bytes }: Most): Promise<void> => {
    const refs = some.map(({ ref }) => ref);
    const found = await store.readNewest(refs, { start, bytesMax: bytes }, points);
    for (const [i, one] of some.entries()) {
      const columns = found[i];
      if (columns === undefined) continue;
      const events = columns instanceof StoreError ? columns : listEvents(one.field, columns, bytes);
      told.set(one, events);
      if (Array.isArray(events) && (events.length === points || isCut(columns as Columns, events)))
        cutOff.add(one);
    }
  };
  await ask(group, most);
  const more = group.filter((one) => cutOff.has(one) && one.ref.kind !== "text");
  if (more.length === 0) return told;
  const total = [...told.values()].reduce((sum, one) => sum + (Array.isArray(one) ? one.length : 0), 0);
  // Each already has some, and shares in what the others have left.
  const own = (told.get(more[0] as ReplayedPoint) as LiveEvent[]).length;
  const points = own + Math.floor((group.length * own - total) / more.length);
  if (points >= 2 * own) await ask(more, { points, bytes: Math.floor((most.bytes / own) * points) });
  return told;
}

const isCut = ({ times }: Columns, events: readonly LiveEvent[]): boolean => events.length < times.length;

/** The newest events, newest first, within the limit of bytes, but at least one. */
function listEvents(field: string, { times, values }: Columns, bytesMax: number): LiveEvent[] {
  const events: LiveEvent[] = [];
  let bytes = 0;
  for (let i = times.length - 1; i >= 0; i--) {
    const event = liveEvent(0, field, { time: times[i] ?? 0, value: values[i] ?? 0 });
    bytes += event.bytes;
    if (bytes > bytesMax && events.length > 0) break;
    events.push(event);
  }
  return events;
}

import { bytesOfEvent, type LiveEvent, liveEvent } from "../../ingest/live-log.js";
import { kindOf } from "../../store/data-points.js";
import { StoreError } from "../../store/errors.js";
import type { Columns } from "../../store/series.js";
import type { DeviceRef } from "../catalog.js";
import type { AppDeps } from "../deps.js";

/** What is answered from the store to a client that was away for longer than events are held. */
const replayPointsMax = 10_000;
const replayBytesMax = 1 << 20;
/** Series of texts that are asked for together: each may hold one point that is longer than its part. */
const textsTogether = 16;

const issueOnly = 2;

export interface Replayed {
  /** Ascending by time, numbered 0: who breaks off among them asks the store again. */
  readonly events: readonly LiveEvent[];
  /** Why a data point is missing among them. */
  readonly untold: readonly string[];
}

/**
 * The newest points of a device behind a time, of each data point its part of the bounds: numbers together, texts some
 * at a time, by their bytes; one that is being stored meanwhile may come twice. The feed goes on without a data point of
 * which the store cannot tell.
 * @param signal ends the questions: nobody waits for the answer any more. @throws StoreError UNAVAILABLE, then too
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
      ref: refs.of(device, { field, kind: kindOf(pointDataType) }),
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
    // What those before have left is for the others.
    const part = (whole: number) => Math.max(1, Math.floor(whole / rest));
    const most = { points: part(left.points), bytes: part(left.bytes) };
    const range = { start: time + 1, bytesMax: most.bytes };
    const refsAsked = group.map(({ ref }) => ref);
    const found = await store.readNewest(refsAsked, range, most.points);
    for (const [i, { field }] of group.entries()) {
      const columns = found[i];
      if (columns === undefined) continue;
      if (columns instanceof StoreError) untold.push(columns.message);
      else for (const event of eventsOf(field, columns, most.bytes)) events.push(event);
    }
    rest -= group.length;
    left.points = replayPointsMax - events.length;
    left.bytes = replayBytesMax - events.reduce((sum, event) => sum + bytesOfEvent(event), 0);
  }
  return { events: events.sort((a, b) => a.time - b.time), untold };
}

/** The newest ones, newest first, as far as their bytes go; one at least. */
function eventsOf(field: string, { times, values }: Columns, bytesMax: number): LiveEvent[] {
  const events: LiveEvent[] = [];
  let bytes = 0;
  for (let i = times.length - 1; i >= 0; i--) {
    const event = liveEvent(0, field, { time: times[i] ?? 0, value: values[i] ?? 0 });
    bytes += bytesOfEvent(event);
    if (bytes > bytesMax && events.length > 0) break;
    events.push(event);
  }
  return events;
}

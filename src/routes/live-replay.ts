import { bytesOfEvent, type LiveEvent, liveEvent } from "../../ingest/live-log.js";
import { type DataPoint, kindOf } from "../../store/data-points.js";
import { StoreError } from "../../store/errors.js";
import type { SeriesQuestions, SeriesRef } from "../../store/series.js";
import type { DeviceRef } from "../catalog.js";
import type { AppDeps } from "../deps.js";

/** What is answered from the store to a client that was away for longer than events are held. */
const replayPointsMax = 10_000;
const replayBytesMax = 1 << 20;
/** Texts read at once: each may have 64 KiB. */
const textsMin = 16;

const issueOnly = 2;

export interface Replayed {
  /** Ascending by time, numbered 0: who breaks off among them asks the store again. */
  readonly events: readonly LiveEvent[];
  /** Why a data point is missing among them. */
  readonly untold: readonly string[];
}

/**
 * The newest points of a device behind a time, of each data point its part of what is left of the bounds; one that is being stored
 * meanwhile may come twice. The feed goes on without a data point of which the store cannot tell.
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
  const reported = points.filter((point) => point.dataTransType !== issueOnly);
  const left = { points: replayPointsMax, bytes: replayBytesMax };
  const events: LiveEvent[] = [];
  const untold: string[] = [];
  for (const [i, point] of reported.entries()) {
    const part = (whole: number) => Math.max(1, Math.floor(whole / (reported.length - i)));
    const most = { points: part(left.points), bytes: part(left.bytes) };
    const ref = refs.of(device, { field: point.field, kind: kindOf(point.pointDataType) });
    try {
      const found = await newestOf(store, ref, point, time + 1, most);
      left.points -= found.length;
      left.bytes -= found.reduce((sum, event) => sum + bytesOfEvent(event), 0);
      for (const event of found) events.push(event);
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "MISMATCH")) throw error;
      untold.push(error.message);
    }
  }
  return { events: events.sort((a, b) => a.time - b.time), untold };
}

/** The newest points of a series from `start` on, newest first: texts by and by, until their bytes are enough. */
async function newestOf(
  store: Pick<SeriesQuestions, "read">,
  ref: SeriesRef,
  { field }: DataPoint,
  start: number,
  most: { readonly points: number; readonly bytes: number },
): Promise<LiveEvent[]> {
  const events: LiveEvent[] = [];
  let bytes = 0;
  let stop: number | undefined;
  let wanted = ref.kind === "text" ? textsMin : most.points;
  for (;;) {
    const newest = Math.min(wanted, most.points - events.length);
    const { times, values } = await store.read(ref, {
      ...{ start, newest },
      ...(stop === undefined ? {} : { stop }),
    });
    for (let i = times.length - 1; i >= 0; i--) {
      const event = liveEvent(0, field, { time: times[i] ?? 0, value: values[i] ?? 0 });
      bytes += bytesOfEvent(event);
      if (bytes > most.bytes && events.length > 0) return events;
      events.push(event);
    }
    if (times.length < newest || events.length >= most.points) return events;
    stop = times[0];
    // As many as fit at the size of those seen.
    wanted = Math.max(textsMin, Math.floor(((most.bytes - bytes) / bytes) * events.length));
  }
}

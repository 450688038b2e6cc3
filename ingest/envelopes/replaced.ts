/** Which values of an envelope's entries count as duplicates. */
import { createSlice } from "../../store/lib/scheduling.js";
import {
  type DecodableMessage,
  type DecodedPoint,
  type DecodeRules,
  decodePoints,
} from "../decode/points.js";
import type { DecodableDevice } from "../decode/product-model.js";

/** An entry that becomes a message of its device. */
export interface EntryMessage {
  /** Its place among the entries of the envelope. */
  readonly ordinal: number;
  /** Record id. */
  readonly device: number;
  readonly payload: Buffer;
}

/** Record ids of data points, by the ordinal of the entry; entries without any are left out. */
type Replaced = ReadonlyMap<number, ReadonlySet<number>>;

/**
 * The data points of each entry to which a later entry of the same device brings a value at the same time: as within a
 * message, the last value that becomes a point counts.
 * @param envelope topic, receipt and stamp of the envelope
 */
export async function findReplaced(
  entries: readonly EntryMessage[],
  envelope: Pick<DecodableMessage, "topic" | "receivedAt" | "stamp">,
  getDevice: (id: number) => Promise<DecodableDevice | undefined>,
  rules: Omit<DecodeRules, "asOfReceipt">,
): Promise<Replaced> {
  const replaced = new Map<number, ReadonlySet<number>>();
  const slice = createSlice();
  for (const [id, own] of byDevice(entries)) {
    const device = own.length === 1 ? undefined : await getDevice(id);
    if (device === undefined) continue;
    const { topic, receivedAt, stamp } = envelope;
    const seen = new Map<number, Set<number>>();
    for (const { ordinal, payload } of own.reverse()) {
      if (slice.isOver()) await slice.next();
      const points = decodeEntry(device, { topic, receivedAt, stamp, payload, isEntry: true }, rules);
      const again = addSeen(seen, points);
      if (again.size > 0) replaced.set(ordinal, again);
    }
  }
  return replaced;
}

function byDevice(entries: readonly EntryMessage[]): ReadonlyMap<number, EntryMessage[]> {
  const found = new Map<number, EntryMessage[]>();
  for (const entry of entries) {
    const own = found.get(entry.device);
    if (own === undefined) found.set(entry.device, [entry]);
    else own.push(entry);
  }
  return found;
}

/** The points of an entry; none of one that cannot be decoded, which the followers of the journal report. */
function decodeEntry(
  device: DecodableDevice,
  message: DecodableMessage,
  rules: Omit<DecodeRules, "asOfReceipt">,
): readonly DecodedPoint[] {
  const points: DecodedPoint[] = [];
  try {
    decodePoints(device, message, { ...rules, asOfReceipt: false }, points, () => undefined);
    return points;
  } catch {
    return [];
  }
}

/** Adds the times of the points to those of their data points. Returns the data points whose time was there already. */
function addSeen(seen: Map<number, Set<number>>, points: readonly DecodedPoint[]): ReadonlySet<number> {
  const again = new Set<number>();
  for (const { series, time } of points) {
    const times = seen.get(series.dataPointIntID) ?? new Set();
    if (times.has(time)) again.add(series.dataPointIntID);
    else seen.set(series.dataPointIntID, times.add(time));
  }
  return again;
}

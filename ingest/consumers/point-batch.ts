/** Decoded points that wait to be written together: a store that syncs each write likes few large ones. */
import type { PointSource } from "../../store/metadata/quarantine.js";
import type { Point } from "../../store/series/series.js";
import type { DecodedPoint } from "../decode/points.js";
import type { FindSource } from "./point-writer.js";

export interface DecodedPointBatch {
  /** The points of the messages taken since the last flush; decoding appends to this array. */
  readonly points: DecodedPoint[];
  /** Every record up to this journal id has been decoded. */
  through: number;
  /** The points from index `from` on came with this message, whose payload has so many bytes. */
  addSource(from: number, deviceIntID: number, journalID: number, payloadBytes: number): void;
  /** Whether there are so many points, or such long ones, that they should be written now. */
  readonly isFull: boolean;
  flush(): Promise<void>;
  /** Starts the wait of what has been taken so far, unless it runs already. */
  startWaiting(): void;
  /** How long until what waits is due; infinite if nothing waits. */
  waitsMs(): number;
}

interface PointBatchOptions {
  /** The journal id to begin after. */
  readonly afterID: number;
  readonly pointsMax: number;
  readonly lingerMs: number;
  /** Resolves when the next batch can be written. */
  readonly write: (points: Point[], through: number, findSource: FindSource) => Promise<void>;
}

/** Texts are about as long as the payloads that they came in. */
const payloadBytesMax = 4 << 20;

interface BatchSource extends PointSource {
  /** Index of its first point. */
  readonly from: number;
}

export function createPointBatch({
  afterID,
  pointsMax,
  lingerMs,
  write,
}: PointBatchOptions): DecodedPointBatch {
  let points: DecodedPoint[] = [];
  /** One for each message with points. */
  let sources: BatchSource[] = [];
  let payloadBytes = 0;
  let through = afterID;
  let flushedThrough = afterID;
  let since = Number.POSITIVE_INFINITY;
  return {
    get points() {
      return points;
    },
    get through() {
      return through;
    },
    set through(id) {
      through = id;
    },
    addSource: (from, deviceIntID, journalID, bytes) => {
      sources.push({ from, deviceIntID, journalID });
      payloadBytes += bytes;
    },
    get isFull() {
      return points.length >= pointsMax || payloadBytes >= payloadBytesMax;
    },
    flush: async () => {
      const full = points;
      const sourceOf = createFindSource(full, sources);
      points = [];
      sources = [];
      payloadBytes = 0;
      since = Number.POSITIVE_INFINITY;
      flushedThrough = through;
      await write(full, through, sourceOf);
    },
    startWaiting: () => {
      if (through > flushedThrough) since = Math.min(since, performance.now());
    },
    waitsMs: () => since + lingerMs - performance.now(),
  };
}

/** The map is made when it is first needed: refused points are few, or come all at once. */
function createFindSource(points: readonly Point[], sources: readonly BatchSource[]): FindSource {
  let byPoint: Map<Point, PointSource> | null = null;
  return (point) => {
    byPoint ??= new Map(
      sources.flatMap((source, i) =>
        points.slice(source.from, sources[i + 1]?.from).map((one) => [one, source] as const),
      ),
    );
    return byPoint.get(point) ?? null;
  };
}

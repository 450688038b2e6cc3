/** The pieces of an export's series, read from the store as the writing thread pulls them. */
import { StoreError } from "../../../store/lib/errors.js";
import { textsBytes } from "../../../store/lib/text-bytes.js";
import type { Columns, ReadRange, SeriesReader, SeriesRef } from "../../../store/series/series.js";
import type { ExportPiece, ExportPlan } from "./export-messages.js";

/** Points of all pieces under way; each series of a wide row has two pieces. */
const pointsUnderWay = 200_000;
const piecePoints = { least: 500, most: 32_768 } as const;
/** Bytes in memory of the texts of all pieces under way, and of one piece. */
const textBytesUnderWay = 16 << 20;
const pieceTextBytes = { least: 16 << 10, most: 4 << 20 } as const;
/**
 * The most bytes of texts that the thread holds if a piece of each series is a single long one. With its row as JSON,
 * where a character may take six, that is less than the thread's heap: V8 ends the whole process where a message does
 * not fit into a thread.
 */
const textBytesHeldMax = 32 << 20;

interface Pieces {
  /** The next piece of a series, or null after its last, with the buffers that go to the thread. */
  next(index: number): Promise<{ readonly piece: ExportPiece | null; readonly buffers: ArrayBuffer[] }>;
  /** Ends the scans that are open. */
  close(): void;
}

/** @param series in the order of the plan's numbers */
export function openPieces(
  store: Pick<SeriesReader, "scan">,
  plan: ExportPlan,
  series: readonly SeriesRef[],
  range: Pick<ReadRange, "start" | "stop">,
): Pieces {
  const { pointsMax, bytesMax } = computeBounds(plan);
  const scans = new Map<number, AsyncGenerator<Columns>>();
  /** For each series the bytes of the piece being written, and of the next. */
  const held = new Map<number, readonly [number, number]>();
  let heldBytes = 0;

  /** @throws StoreError INVALID */
  function keepPiece(index: number, piece: Columns): void {
    const [writtenBytes, nextBytes] = held.get(index) ?? [0, 0];
    const bytes = piece.kind === "text" ? textsBytes(piece.values) : 0;
    held.set(index, [nextBytes, bytes]);
    heldBytes += bytes - writtenBytes;
    if (heldBytes <= textBytesHeldMax) return;
    const reason = `must be long: the texts of one row take more than ${textBytesHeldMax / 2 ** 20} MiB`;
    throw new StoreError("INVALID", `cannot export: layout ${reason}`, { layout: reason });
  }

  return {
    next: async (index) => {
      const ref = series[index];
      if (ref === undefined) throw new RangeError(`the export has no series ${index}`);
      const scan = scans.get(index) ?? store.scan(ref, { ...range, bytesMax }, pointsMax);
      scans.set(index, scan);
      const { done, value } = await scan.next();
      if (done === true) {
        scans.delete(index);
        for (const bytes of held.get(index) ?? []) heldBytes -= bytes;
        held.delete(index);
        return { piece: null, buffers: [] };
      }
      keepPiece(index, value);
      return { piece: { times: value.times, values: value.values }, buffers: listBuffers(value) };
    },
    close: () => {
      for (const scan of scans.values()) scan.return(undefined).catch(() => undefined);
    },
  };
}

/** Bounds of one piece: the series of a wide row are read side by side. */
function computeBounds({ layout, devices }: ExportPlan): {
  readonly pointsMax: number;
  readonly bytesMax: number;
} {
  const abreast = layout === "wide" ? Math.max(1, ...devices.map(({ points }) => points.length)) : 1;
  const share = (all: number, { least, most }: { readonly least: number; readonly most: number }) =>
    Math.max(least, Math.min(most, Math.floor(all / (2 * abreast))));
  return {
    pointsMax: share(pointsUnderWay, piecePoints),
    bytesMax: share(textBytesUnderWay, pieceTextBytes),
  };
}

function listBuffers(columns: Columns): ArrayBuffer[] {
  const arrays = columns.kind === "text" ? [columns.times] : [columns.times, columns.values];
  return [...new Set(arrays.map((array) => array.buffer as ArrayBuffer))];
}

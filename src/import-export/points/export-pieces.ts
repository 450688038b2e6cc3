/** The pieces of an export's series, read from the store as the writing thread pulls them. */
import type { Columns, ReadRange, SeriesQuestions, SeriesRef } from "../../../store/series/series.js";
import type { ExportPlan, Piece } from "./export-messages.js";

/** Points of all pieces under way; each series of a wide row has two pieces. */
const pointsUnderWay = 200_000;
const piecePoints = { least: 500, most: 32_768 } as const;
/** Bytes in memory of the texts of all pieces under way, and of one piece. */
const textBytesUnderWay = 16 << 20;
const pieceTextBytes = { least: 16 << 10, most: 4 << 20 } as const;

interface Pieces {
  /** The next piece of a series, or null after its last, with the buffers that go to the thread. */
  next(index: number): Promise<{ readonly piece: Piece | null; readonly buffers: ArrayBuffer[] }>;
  /** Ends the scans that are open. */
  close(): void;
}

/** @param series in the order of the plan's numbers */
export function openPieces(
  store: Pick<SeriesQuestions, "scan">,
  plan: ExportPlan,
  series: readonly SeriesRef[],
  range: Pick<ReadRange, "start" | "stop">,
): Pieces {
  const { pointsMax, bytesMax } = boundsOf(plan);
  const scans = new Map<number, AsyncGenerator<Columns>>();
  return {
    next: async (index) => {
      const ref = series[index];
      if (ref === undefined) throw new RangeError(`the export has no series ${index}`);
      const scan = scans.get(index) ?? store.scan(ref, { ...range, bytesMax }, pointsMax);
      scans.set(index, scan);
      const { done, value } = await scan.next();
      if (done === true) {
        scans.delete(index);
        return { piece: null, buffers: [] };
      }
      return { piece: { times: value.times, values: value.values }, buffers: buffersOf(value) };
    },
    close: () => {
      for (const scan of scans.values()) scan.return(undefined).catch(() => undefined);
    },
  };
}

/** Bounds of one piece: the series of a wide row are read side by side. */
function boundsOf({ layout, devices }: ExportPlan): {
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

function buffersOf(columns: Columns): ArrayBuffer[] {
  const arrays = columns.kind === "text" ? [columns.times] : [columns.times, columns.values];
  return [...new Set(arrays.map((array) => array.buffer as ArrayBuffer))];
}

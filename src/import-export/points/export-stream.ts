import { Worker } from "node:worker_threads";
import { asError } from "../../../store/lib/errors.js";
import { threadLimits } from "../../../store/lib/thread-limits.js";
import type { Columns, ReadRange, SeriesQuestions, SeriesRef } from "../../../store/series/series.js";
import type { ExportPlan, FromExport, Piece, ToExport } from "./export-messages.js";

interface Export {
  readonly plan: ExportPlan;
  /** By the numbers of the plan. */
  readonly series: readonly SeriesRef[];
  readonly range: Pick<ReadRange, "start" | "stop">;
  /** Called once, when the stream has ended or was given up. */
  readonly closed: () => void;
}

const heapMegabytesMax = 128;
/** Points of the pieces under way together; each series of a wide row has two. */
const pointsUnderWay = 200_000;
const piecePoints = { least: 500, most: 32_768 } as const;
/** Texts of the pieces under way together, as they are held, and of one of them. */
const textBytesUnderWay = 16 << 20;
const pieceTextBytes = { least: 16 << 10, most: 4 << 20 } as const;
/** Someone who takes nothing of what is there for so long is given up. */
const stallMs = 120_000;

/** Calls back after so many milliseconds, unless it is told not to. */
export type StartTimer = (ms: number, then: () => void) => () => void;

const realTimer: StartTimer = (ms, then) => {
  const timer = setTimeout(then, ms).unref();
  return () => clearTimeout(timer);
};

/**
 * The export's bytes as they are asked for, in constant memory. Resolves when the first ones are there, so that a
 * store that cannot answer is an error and no broken stream. @throws StoreError UNAVAILABLE
 */
export async function openExport(
  store: Pick<SeriesQuestions, "scan">,
  { plan, series, range, closed }: Export,
  startTimer = realTimer,
): Promise<ReadableStream<Uint8Array>> {
  const abreast =
    plan.layout === "wide" ? Math.max(1, ...plan.devices.map(({ points }) => points.length)) : 1;
  const pointsMax = Math.max(
    piecePoints.least,
    Math.min(piecePoints.most, Math.floor(pointsUnderWay / (2 * abreast))),
  );
  const bytesMax = Math.max(
    pieceTextBytes.least,
    Math.min(pieceTextBytes.most, Math.floor(textBytesUnderWay / (2 * abreast))),
  );
  const scans = new Map<number, AsyncGenerator<Columns>>();
  const worker = new Worker(new URL("./export.worker.js", import.meta.url), {
    workerData: plan,
    resourceLimits: { ...threadLimits, maxOldGenerationSizeMb: heapMegabytesMax },
  });
  const answer = (message: ToExport, transfer: ArrayBuffer[] = []) => worker.postMessage(message, transfer);
  const chunks: Uint8Array[] = [];
  let outcome: "end" | Error | null = null;
  let wake: () => void = () => undefined;
  let over = false;
  let stopTimer: () => void = () => undefined;

  function finish(how: "end" | Error): void {
    outcome ??= how;
    wake();
  }
  function close(): void {
    if (over) return;
    over = true;
    stopTimer();
    void worker.terminate();
    for (const scan of scans.values()) scan.return(undefined).catch(() => undefined);
    closed();
  }
  /** From a chunk that is there to when it is taken; the time that the store takes for the next does not count. */
  function watch(controller: ReadableStreamDefaultController<Uint8Array>): void {
    stopTimer = startTimer(stallMs, () => {
      close();
      controller.error(new Error("the export was not taken"));
    });
  }

  async function serve(place: number): Promise<void> {
    const ref = series[place];
    if (ref === undefined) throw new RangeError(`the export has no series ${place}`);
    const scan = scans.get(place) ?? store.scan(ref, { ...range, bytesMax }, pointsMax);
    scans.set(place, scan);
    const { done, value } = await scan.next();
    if (done === true) {
      scans.delete(place);
      return answer({ kind: "piece", series: place, piece: null });
    }
    const piece: Piece = { times: value.times, values: value.values };
    answer({ kind: "piece", series: place, piece }, buffersOf(value));
  }

  worker.on("message", (message: FromExport) => {
    if (message.kind === "pull") serve(message.series).catch((error: unknown) => finish(asError(error)));
    else if (message.kind === "end") finish("end");
    else if (message.kind === "failed") finish(new Error(message.message));
    else {
      chunks.push(message.bytes);
      wake();
    }
  });
  worker.once("error", finish);
  worker.once("exit", () => finish(new Error("the export's thread ended too early")));

  /** The next chunk; null at the end. */
  async function next(): Promise<Uint8Array | null> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        if (!over) answer({ kind: "taken" });
        return chunk;
      }
      if (outcome === "end") return null;
      if (outcome !== null) throw outcome;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  let first: Uint8Array | null;
  try {
    first = await next();
  } catch (error) {
    close();
    throw error;
  }
  let begun = false;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        stopTimer();
        try {
          const chunk = begun ? await next() : first;
          begun = true;
          if (chunk === null) {
            close();
            controller.close();
          } else {
            controller.enqueue(chunk);
            if (!over) watch(controller);
          }
        } catch (error) {
          close();
          controller.error(error);
        }
      },
      cancel: close,
    },
    { highWaterMark: 1 },
  );
}

function buffersOf(columns: Columns): ArrayBuffer[] {
  const arrays = columns.kind === "text" ? [columns.times] : [columns.times, columns.values];
  return [...new Set(arrays.map((array) => array.buffer as ArrayBuffer))];
}

import { asError } from "../../../store/lib/errors.js";
import type { ReadRange, SeriesReader, SeriesRef } from "../../../store/series/series.js";
import { startThread } from "../../host/thread.js";
import type { ExportPlan, FromExport, ToExport } from "./export-messages.js";
import { openPieces } from "./export-pieces.js";

interface Export {
  readonly plan: ExportPlan;
  /** In the order of the plan's numbers. */
  readonly series: readonly SeriesRef[];
  readonly range: Pick<ReadRange, "start" | "stop">;
  /** Called once, when the stream has ended or was given up. */
  readonly closed: () => void;
}

/** More than all that it is given takes, see export-pieces.ts. */
const heapMegabytesMax = 256;
/** A client that takes none of the waiting bytes for this long is given up. */
const stallMs = 120_000;

/** Calls back after this many milliseconds, unless the returned function cancels it. */
export type StartTimer = (ms: number, then: () => void) => () => void;

const realTimer: StartTimer = (ms, then) => {
  const timer = setTimeout(then, ms).unref();
  return () => clearTimeout(timer);
};

/** Chunks as the thread writes them, taken one at a time. */
interface ChunkQueue {
  add(chunk: Uint8Array): void;
  /** No more chunks come; only the first reason counts. */
  finish(how: "end" | Error): void;
  /** The next chunk, or null at the end. @throws the error of `finish`, after the chunks before it */
  next(): Promise<Uint8Array | null>;
}

function createChunkQueue(): ChunkQueue {
  const chunks: Uint8Array[] = [];
  let outcome: "end" | Error | null = null;
  let wake: () => void = () => undefined;
  return {
    add: (chunk) => {
      chunks.push(chunk);
      wake();
    },
    finish: (how) => {
      outcome ??= how;
      wake();
    },
    next: async () => {
      for (;;) {
        const chunk = chunks.shift();
        if (chunk !== undefined) return chunk;
        if (outcome === "end") return null;
        if (outcome !== null) throw outcome;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/**
 * The export's bytes as they are asked for, in constant memory. Resolves once the first ones are there, so that a store
 * that cannot answer causes an error and not a broken stream. @throws StoreError UNAVAILABLE
 */
export async function openExport(
  store: Pick<SeriesReader, "scan">,
  { plan, series, range, closed }: Export,
  startTimer = realTimer,
): Promise<ReadableStream<Uint8Array>> {
  const pieces = openPieces(store, plan, series, range);
  const chunks = createChunkQueue();
  let over = false;
  let stopTimer: () => void = () => undefined;
  const thread = startThread<FromExport, ToExport>(new URL("./export.worker.js", import.meta.url), {
    start: plan,
    heapMegabytesMax,
    onMessage: (message) => {
      if (message.kind === "pull") {
        sendPiece(message.series).catch((error: unknown) => chunks.finish(asError(error)));
      } else if (message.kind === "end") chunks.finish("end");
      else if (message.kind === "failed") chunks.finish(new Error(message.message));
      else chunks.add(message.bytes);
    },
    onError: chunks.finish,
    onExit: () => chunks.finish(new Error("the export's thread ended too early")),
  });

  async function sendPiece(index: number): Promise<void> {
    const { piece, buffers } = await pieces.next(index);
    thread.send({ kind: "piece", series: index, piece }, buffers);
  }
  async function next(): Promise<Uint8Array | null> {
    const chunk = await chunks.next();
    if (chunk !== null && !over) thread.send({ kind: "taken" });
    return chunk;
  }
  function close(): void {
    if (over) return;
    over = true;
    stopTimer();
    void thread.terminate();
    pieces.close();
    closed();
  }
  /**
   * Measures from the moment a chunk is ready until it is taken; the time that the store takes for the next does not
   * count.
   */
  function giveUpLater(controller: ReadableStreamDefaultController<Uint8Array>): void {
    stopTimer = startTimer(stallMs, () => {
      close();
      controller.error(new Error("the export was not taken"));
    });
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
            if (!over) giveUpLater(controller);
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

/** One stream of GET /live, for as long as it is wanted: it comes back by itself, where it was. */
import { createReader } from "./events.js";

/** Why there is nothing to read: `gone`: one of its devices is not there; `loggedOut`: nobody is logged in. */
export type Loss = "away" | "refused" | "gone" | "loggedOut";

interface StreamHandlers {
  event(name: string, data: unknown): void;
  /** The service has greeted. */
  connected(): void;
  lost(loss: Loss): void;
}

export interface Stream {
  close(): void;
}

/** A service that comes back is found within 5 s. */
const [firstDelayMs, longestDelayMs] = [250, 3000];
/** The service shows a sign of life every 15 s. */
const silenceMs = 40_000;
/** After a longer gap, when a machine slept, pages query anew: replayed events would look like late points. */
const missedMsMax = 5 * 60_000;

export function openStream(path: string, handlers: StreamHandlers): Stream {
  const end = new AbortController();
  let lastID = "";
  let heardAt = Date.now();
  /** Events were missed that the stream will not bring again. */
  let isGap = false;
  const isLongAgo = (): boolean => Date.now() - heardAt > missedMsMax;

  async function read(response: Response, alive: () => void): Promise<void> {
    const reader = createReader(lastID);
    const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const next = await pieces?.read();
      if (next === undefined || next.done || isLongAgo()) return;
      heardAt = Date.now();
      alive();
      for (const { name, data } of reader.take(next.value)) {
        if (name === "hello") greeted();
        else handlers.event(name, JSON.parse(data));
      }
      lastID = reader.lastID;
    }
  }

  function greeted(): void {
    handlers.connected();
    if (isGap) handlers.event("gap", {});
    isGap = false;
  }

  /** Until it breaks off. Null: it did so by itself, and may be asked for again at once. */
  async function once(): Promise<{ readonly loss: Loss; readonly afterMs: number } | null> {
    const attempt = new AbortController();
    const stop = (): void => attempt.abort();
    end.signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, silenceMs);
    const alive = (): void => {
      clearTimeout(timer);
      timer = setTimeout(stop, silenceMs);
    };
    let isThere = false;
    if (lastID !== "" && isLongAgo()) {
      lastID = "";
      isGap = true;
    }
    try {
      const response = await fetch(path, {
        headers: lastID === "" ? {} : { "Last-Event-ID": lastID },
        credentials: "same-origin",
        signal: attempt.signal,
      });
      isThere = response.ok;
      if (!isThere) return classifyLoss(response);
      heardAt = Date.now();
      await read(response, alive);
      return null;
    } catch {
      return isThere ? null : { loss: "away", afterMs: 0 };
    } finally {
      clearTimeout(timer);
      end.signal.removeEventListener("abort", stop);
      attempt.abort();
    }
  }

  async function run(): Promise<void> {
    let delayMs = firstDelayMs;
    while (!end.signal.aborted) {
      const lost = await once();
      if (end.signal.aborted) return;
      if (lost === null) delayMs = firstDelayMs;
      else {
        handlers.lost(lost.loss);
        if (lost.loss === "gone" || lost.loss === "loggedOut") return;
      }
      await pause(Math.max(delayMs, lost?.afterMs ?? 0), end.signal);
      delayMs = Math.min(delayMs * 2, longestDelayMs);
    }
  }

  void run();
  return { close: () => end.abort() };
}

const refusedAgainMs = 15_000;

function classifyLoss({ status, headers }: Response): { readonly loss: Loss; readonly afterMs: number } {
  if (status === 401) return { loss: "loggedOut", afterMs: 0 };
  if (status === 404) return { loss: "gone", afterMs: 0 };
  const afterMs = Number(headers.get("retry-after") ?? 0) * 1000;
  // What a proxy answers for a service that is not there, and what the service answers when it can do nothing.
  if (status === 502 || status === 503 || status === 504) return { loss: "away", afterMs };
  return { loss: "refused", afterMs: Math.max(refusedAgainMs, afterMs) };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * A tab of the browser that is timed from within: conditions are looked at once a frame by the page itself, so that the
 * way to the browser and back is in no figure.
 */
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { percentileOf } from "../load/histogram.js";

export interface Frames {
  /** Milliseconds from one to the next. */
  readonly p50: number;
  readonly p95: number;
  readonly perSecond: number;
  /** Both figures count only tasks that blocked the page for more than 50 ms. */
  readonly longestTaskMs: number;
  readonly longTasks: number;
}

export interface Tab {
  readonly page: Page;
  /** Goes there; milliseconds from the navigation's start until `seen`, an expression, is true. */
  load(url: string, seen: string, timeoutMs?: number): Promise<number>;
  /** Runs statements; milliseconds from there until `seen` is true. */
  time(statements: string, seen: string): Promise<number>;
  /** When `seen` was true first, in milliseconds since 1970 by the page's clock. */
  when(seen: string, timeoutMs?: number): Promise<number>;
  run<T>(expression: string): Promise<T>;
  /** Frames and long tasks while `during` goes on. */
  frames(during: () => Promise<unknown>): Promise<Frames>;
  /** After a collection of garbage. */
  memory(): Promise<{ readonly heapMB: number; readonly nodes: number }>;
}

const conditionMs = 30_000;

const recorder = `(() => {
  const bench = (window.bench = { frames: [], tasks: [] });
  let before;
  const tick = (at) => {
    if (before !== undefined) bench.frames.push(at - before);
    before = at;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) bench.tasks.push(task.duration);
  }).observe({ type: "longtask" });
})()`;

/** A context whose tabs record their frames. */
export async function recordFrames(context: BrowserContext): Promise<void> {
  await context.addInitScript(recorder);
}

export async function openTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable");

  /** The policy of the console forbids the evaluation of texts to itself, not to who debugs it. */
  async function run<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) {
      throw new Error(`the page: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    }
    return result.value as T;
  }
  const until = (seen: string, answer: string, timeoutMs = conditionMs): Promise<number> =>
    run(`new Promise((resolve, reject) => {
      const end = performance.now() + ${timeoutMs};
      const look = () => {
        if (${seen}) resolve(${answer});
        else if (performance.now() > end) reject(new Error(${JSON.stringify(`never seen: ${seen}`)}));
        else requestAnimationFrame(look);
      };
      look();
    })`);
  return {
    page,
    run,
    load: async (url, seen, timeoutMs) => {
      await page.goto(url, { waitUntil: "commit" });
      return until(seen, "performance.now()", timeoutMs);
    },
    time: async (statements, seen) => {
      const from = await run<number>(
        `(() => { const from = performance.now(); ${statements}; return from; })()`,
      );
      return until(seen, `performance.now() - ${from}`);
    },
    when: (seen, timeoutMs) => until(seen, "performance.timeOrigin + performance.now()", timeoutMs),
    frames: (during) => framesOf(run, during),
    memory: () => memoryOf(session),
  };
}

async function framesOf(run: Tab["run"], during: () => Promise<unknown>): Promise<Frames> {
  await run("bench.frames.length = bench.tasks.length = 0");
  await during();
  const { frames, tasks } = await run<{ frames: number[]; tasks: number[] }>(
    "({ frames: bench.frames, tasks: bench.tasks })",
  );
  const total = frames.reduce((sum, one) => sum + one, 0);
  return {
    p50: percentileOf(frames, 0.5),
    p95: percentileOf(frames, 0.95),
    perSecond: (frames.length / Math.max(1, total)) * 1000,
    longestTaskMs: Math.max(0, ...tasks),
    longTasks: tasks.length,
  };
}

async function memoryOf(session: CDPSession): Promise<{ heapMB: number; nodes: number }> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  return { heapMB: of("JSHeapUsedSize") / 1e6, nodes: of("Nodes") };
}

import type { Figure } from "../report.js";
import type { Api } from "./api-client.js";
import { percentileOf } from "./histogram.js";
import { timed } from "./timing.js";

type Answers = Pick<Figure, "value" | "unit" | "detail">;

interface Viewers {
  /** What answers took since the last time that somebody asked. */
  take(): Answers;
  /** The same, once nobody waits any more. */
  stop(): Promise<Answers>;
}

/** Viewers whose panels are drawn anew, all at once, each viewer at moments of its own. */
export function startViewers(
  api: Api,
  panels: readonly string[],
  { count, everyMs }: { readonly count: number; readonly everyMs: number },
): Viewers {
  const timers = new Set<NodeJS.Timeout>();
  const drawing = new Set<Promise<void>>();
  let times: number[] = [];
  let failed = 0;

  async function ask(path: string): Promise<void> {
    const took = await timed(async () => {
      const { status } = await api.call("GET", path);
      if (status !== 200) failed += 1;
    });
    times.push(took);
  }

  function draw(): void {
    const drawn = Promise.all(panels.map(ask)).then(() => void drawing.delete(drawn));
    drawing.add(drawn);
  }

  function take(): Answers {
    const [all, bad] = [times, failed];
    [times, failed] = [[], 0];
    const detail = { "p50 ms": percentileOf(all, 0.5), answers: all.length, failed: bad };
    return { value: percentileOf(all, 0.99), unit: "ms p99", detail };
  }

  for (let i = 0; i < count; i++) {
    const begin = setTimeout(
      () => {
        draw();
        timers.add(setInterval(draw, everyMs));
      },
      (i * everyMs) / count,
    );
    timers.add(begin);
  }
  return {
    take,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(drawing);
      return take();
    },
  };
}

/** A long run of a cluster on Kafka with a kill each minute: is memory flat, and is all there at the end? */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BreakName } from "../../test/cluster/whole-load/breaks.js";
import { withClusterOnKafka } from "../../test/cluster/whole-load/cluster-on-kafka.js";
import { breakInRounds } from "../../test/cluster/whole-load/rounds.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { slopeOf } from "../slope.js";
import { rssMB } from "../subjects/proc.js";

/** A kill each minute, with the start that follows. */
const quietMs = 45_000;
/** An hour of a device fits into one answer of its points. */
const messagesPerSecond = 20;
const sampleMs = 10_000;
/** Share of the run that is left out of the slope. */
const settlingShare = 0.25;
/** The first node is never killed, so that its memory can be followed over the whole run. */
const spared = 0;
const killed = [1, 2] as const;
const kills: readonly BreakName[] = ["node killed", "broker killed", "node replaced"];

export function benchClusterSoak(options: BenchOptions): Promise<Figure[]> {
  return withClusterOnKafka({ parent: options.dir, places: killed, frozenMs: 0 }, async (all) => {
    const { pid } = JSON.parse(await readFile(join(all.dir, `node-${spared}`, "service.json"), "utf8")) as {
      pid: number;
    };
    const started = performance.now();
    const secondsSince = (): number => (performance.now() - started) / 1000;
    const seconds = options.minutes * 60;
    const samples: [seconds: number, megabytes: number][] = [];
    const timer = setInterval(() => samples.push([secondsSince(), rssMB(pid)]), sampleMs);
    function* untilOver(): Generator<BreakName> {
      for (let i = 0; secondsSince() < seconds; i++) yield kills[i % kills.length] as BreakName;
    }
    const { rounds, counted } = await breakInRounds(untilOver(), {
      ...all,
      quietMs,
      messagesPerSecond,
      onRound: ({ broken, pausesMs }) => {
        const pause = (Math.max(...pausesMs) / 1000).toFixed(1);
        const memory = Math.round(samples.at(-1)?.[1] ?? 0);
        progress(`cluster-soak ${Math.round(secondsSince())} s: ${broken}, ${pause} s; ${memory} MB`);
      },
    });
    clearInterval(timer);
    const settled = samples.filter(([at]) => at >= seconds * settlingShare);
    const megabytes = settled.map(([, one]) => one);
    const longest = Math.max(...rounds.flatMap(({ pausesMs }) => pausesMs)) / 1000;
    const { messages, commands, schedules } = counted;
    return [
      { name: "memory when settled", value: megabytes[0] ?? 0, unit: "MB" },
      {
        name: "memory at the end",
        value: megabytes.at(-1) ?? 0,
        unit: "MB",
        baseline: "memory when settled",
        detail: { "peak MB": Math.max(...megabytes) },
      },
      {
        name: "memory an hour",
        value: slopeOf(settled) * 3600,
        unit: "MB",
        baseline: "memory when settled",
      },
      {
        name: "all is there once",
        value: messages,
        unit: "messages",
        detail: { commands, schedules, kills: rounds.length, "longest pause s": longest },
      },
    ];
  });
}

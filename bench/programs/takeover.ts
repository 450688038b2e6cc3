/** How long a device has no acknowledgement while parts of its cluster are away, and whether all is there afterwards. */
import { type BreakName, breaks, cuts } from "../../test/cluster/whole-load/breaks.js";
import { withClusterOnKafka } from "../../test/cluster/whole-load/cluster-on-kafka.js";
import { breakInRounds, type Round } from "../../test/cluster/whole-load/rounds.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";

const quietMs = 2000;
/** As long as the longest pause of a virtual machine that its host moves. */
const frozenMs = 20_000;
const messagesPerSecond = 30;
/** A device that has waited longer than this has felt it. */
const feltMs = 500;

export async function benchTakeover(options: BenchOptions): Promise<Figure[]> {
  return withClusterOnKafka({ parent: options.dir, frozenMs }, async (all) => {
    const canCut = all.networks !== null;
    const ways = (Object.keys(breaks) as BreakName[]).filter(
      (name) => wants(options, name) && (canCut || !cuts.includes(name)),
    );
    const names = Array.from({ length: options.rounds }, () => ways).flat();
    const load = { quietMs, messagesPerSecond, onRound };
    const { rounds, counted } = await breakInRounds(names, { ...all, ...load });
    const { messages, commands, schedules } = counted;
    return [
      ...ways.map((name) => figureOf(name, rounds)),
      { name: "all is there once", value: messages, unit: "messages", detail: { commands, schedules } },
    ];
  });
}

function onRound({ broken, pausesMs }: Round): void {
  const pauses = pausesMs.map((ms) => (ms / 1000).toFixed(1)).join(" ");
  progress(`takeover: ${broken}: ${pauses} s`);
}

function figureOf(name: BreakName, rounds: readonly Round[]): Figure {
  const pausesMs = rounds.filter(({ broken }) => broken === name).flatMap((round) => round.pausesMs);
  const felt = pausesMs.filter((ms) => ms > feltMs).toSorted((a, b) => a - b);
  const at = (share: number): number => (felt[Math.ceil(felt.length * share) - 1] ?? 0) / 1000;
  return {
    name,
    value: Math.max(...pausesMs) / 1000,
    unit: "s, longest",
    ...(name === "nothing" ? {} : { baseline: "nothing" }),
    detail: { "felt by": felt.length, of: pausesMs.length, p50: at(0.5), p95: at(0.95) },
  };
}

import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { compareAll } from "../rounds.js";
import { brokerContender, shapes } from "../subjects/contenders.js";

/** What the generator itself can do, against a sink that only answers, and aedes beside it. */
export async function benchCeiling(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const shape of shapes.filter(({ name }) => wants(options, name))) {
    progress(`ceiling ${shape.name}`);
    const openers = [
      () => brokerContender("sink", shape, options),
      () => brokerContender("aedes", shape, options),
    ];
    figures.push(...(await compareAll(openers, options.rounds)));
  }
  return figures;
}

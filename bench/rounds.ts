import type { Figure } from "./report.js";

/** One side of a comparison: a timed run that gives one figure or more. */
export interface Contender {
  run(): Promise<Figure[]>;
  close(): Promise<void>;
}

/**
 * Runs all contenders in turn, round after round, so that a busy minute of the machine falls on all of them,
 * and takes each figure from the round in which it was the median.
 */
async function inTurns(contenders: readonly Contender[], rounds: number): Promise<Figure[]> {
  const seen = new Map<string, Figure[]>();
  for (let round = 0; round < rounds; round++) {
    for (const contender of contenders) {
      for (const figure of await contender.run()) {
        seen.set(figure.name, [...(seen.get(figure.name) ?? []), figure]);
      }
    }
  }
  return [...seen.values()].flatMap(medianFigure);
}

function medianFigure(figures: readonly Figure[]): Figure[] {
  const sorted = [...figures].sort((a, b) => a.value - b.value);
  return sorted.slice(Math.floor((sorted.length - 1) / 2)).slice(0, 1);
}

/** Opens contenders one after the other, compares them, and closes them. */
export async function compareAll(
  openers: readonly (() => Promise<Contender>)[],
  rounds: number,
): Promise<Figure[]> {
  const contenders: Contender[] = [];
  for (const open of openers) contenders.push(await open());
  const figures = await inTurns(contenders, rounds);
  for (const contender of contenders) await contender.close();
  return figures;
}

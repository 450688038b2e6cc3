/** What a backup costs clients that publish at the same time: the same load with and without one under way. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { points, provision, writeCredentials } from "../load/fleet.js";
import { type Generator, startGenerator } from "../load/generator.js";
import type { RoundResult } from "../load/round.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { compareAll } from "../rounds.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

const shapes = {
  "50x50": { connections: 50, inflight: 50 },
  "500x1": { connections: 500, inflight: 1 },
} as const;
const fillSeconds = { whole: 20, quick: 3 } as const;
const program = fileURLToPath(new URL("../../service/src/main.js", import.meta.url));

interface Made {
  readonly count: number;
  readonly bytes: number;
}

export async function benchBackup(options: BenchOptions): Promise<Figure[]> {
  const service = await startTidemark({ dir: options.dir });
  const fleet = await provision(service.api(), 500);
  const credentialsFile = await writeCredentials(options.dir, fleet.devices);
  const figures: Figure[] = [];
  for (const [name, shape] of Object.entries(shapes)) {
    progress(`backup: ${name}`);
    const generator = await startGenerator({ ...shape, port: service.mqttPort(), credentialsFile });
    await generator.round({ seconds: options.quick ? fillSeconds.quick : fillSeconds.whole });
    figures.push(...(await shapeFigures(options, service, generator, name)));
    await generator.close();
  }
  await service.close();
  return figures;
}

function shapeFigures(
  options: BenchOptions,
  service: Tidemark,
  generator: Generator,
  shape: string,
): Promise<Figure[]> {
  const name = `${shape}, no backup`;
  const run = async (what: string, during: () => Promise<Made | null>): Promise<Figure[]> => {
    await service.stored();
    const [round, made] = await Promise.all([generator.round({ seconds: options.seconds }), during()]);
    return [figureOf(what, round, what === name ? undefined : name, made)];
  };
  const seconds = options.seconds;
  return compareAll(
    [
      async () => ({ run: () => run(name, async () => null), close: async () => undefined }),
      async () => ({
        run: () => run(`${shape}, backups without end`, () => backUp(options.dir, service, seconds)),
        close: async () => undefined,
      }),
    ],
    options.rounds,
  );
}

/** Makes whole backups, one after the other, until the time is over. */
async function backUp(dir: string, service: Tidemark, seconds: number): Promise<Made> {
  const until = performance.now() + seconds * 1000;
  const [, key = ""] = service.authorization.split(" ");
  const env = { DATA_DIR: service.dataDir, API_KEY: Buffer.from(key, "base64").toString() };
  const made = { count: 0, bytes: 0 };
  while (performance.now() < until) {
    const target = join(dir, "backups");
    await mkdir(target, { recursive: true });
    const child = spawn(process.execPath, [program, "backup", target], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    const timer = setTimeout(() => child.kill(), until - performance.now());
    const [code] = (await once(child, "close")) as [number | null];
    clearTimeout(timer);
    if (code === 0) {
      made.count++;
      made.bytes += (JSON.parse(output) as { bytes: number }).bytes;
    }
    await rm(target, { recursive: true, force: true });
  }
  return made;
}

function figureOf(name: string, round: RoundResult, baseline: string | undefined, made: Made | null): Figure {
  const { p50, p99, max, errors } = round;
  return {
    name,
    value: round.rate * points.length,
    unit: "points/s",
    ...(baseline === undefined ? {} : { baseline }),
    detail: {
      "p50 ms": p50,
      "p99 ms": p99,
      "max ms": max,
      ...(made === null
        ? {}
        : { "whole backups": made.count, "MB each": made.bytes / 1e6 / Math.max(1, made.count) }),
      ...(errors > 0 ? { errors } : {}),
    },
  };
}

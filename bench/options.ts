/** What every program of the bench understands; a program ignores what it has no use for. */
export interface BenchOptions {
  /** Length of one timed round. */
  readonly seconds: number;
  /** Rounds of each subject, taken in turn with the others; the median counts. */
  readonly rounds: number;
  /** Timed calls of each query and subject. */
  readonly calls: number;
  /** Length of the soak. */
  readonly minutes: number;
  /** For how long a live page of the console is watched. */
  readonly liveMinutes: number;
  readonly ratePerSecond: number;
  /** Numbers of registered devices. */
  readonly devices: readonly number[];
  /** Names of subjects or shapes to take; empty: all. */
  readonly only: readonly string[];
  readonly quick: boolean;
  /** Where data directories are made; the disk under it is part of what is measured. */
  readonly dir: string;
}

const full = {
  seconds: 5,
  rounds: 3,
  calls: 200,
  minutes: 10,
  live: 2,
  rate: 10_000,
  devices: "1,1000,100000",
};
const quick = {
  seconds: 2,
  rounds: 1,
  calls: 20,
  minutes: 1,
  live: 0.25,
  rate: 10_000,
  devices: "1,100,1000",
};

/** Reads `--name value` pairs. @throws Error naming an option that does not exist or is not a number. */
export function parseOptions(args: readonly string[], tmpdir: string): BenchOptions {
  const given = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const name = args[i] ?? "";
    if (!name.startsWith("--")) throw new Error(`cannot read option "${name}": options start with --`);
    if (name === "--quick") given.set("quick", "yes");
    else given.set(name.slice(2), args[++i] ?? "");
  }
  const isQuick = given.delete("quick");
  const defaults = isQuick ? quick : full;
  const take = (name: string, otherwise: string): string => {
    const value = given.get(name) ?? otherwise;
    given.delete(name);
    return value;
  };
  const options = {
    seconds: positive("seconds", take("seconds", String(defaults.seconds))),
    rounds: positive("rounds", take("rounds", String(defaults.rounds))),
    calls: positive("calls", take("calls", String(defaults.calls))),
    minutes: positive("minutes", take("minutes", String(defaults.minutes))),
    liveMinutes: positive("live-minutes", take("live-minutes", String(defaults.live))),
    ratePerSecond: positive("rate", take("rate", String(defaults.rate))),
    devices: list(take("devices", defaults.devices)).map((text) => positive("devices", text)),
    only: list(take("only", "")),
    quick: isQuick,
    dir: take("dir", tmpdir),
  };
  const [unknown] = given.keys();
  if (unknown !== undefined) throw new Error(`cannot read option --${unknown}: there is no such option`);
  return options;
}

/** Whether `--only` takes this name. */
export function wants(options: BenchOptions, name: string): boolean {
  return options.only.length === 0 || options.only.includes(name);
}

function list(text: string): string[] {
  return text.split(",").filter((entry) => entry !== "");
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`cannot read option --${name}: "${text}" is not a positive number`);
  return value;
}

import { systemClock } from "../store/lib/clock.js";
import { isUnavailable } from "../store/lib/errors.js";
import { shells } from "./cli/completion.js";
import { runTool, tools } from "./cli/tools.js";
import { helpOn, helpWanted, type PartsNamed, printed, unknownCommand } from "./cli/usage.js";
import { ConfigError, readConfig, seriesEngine } from "./config/config.js";
import { endWithReader, goOnWithoutErrorOutput } from "./host/standard-streams.js";
import { createLogger } from "./observability/log.js";
import { createLogOutput } from "./observability/log-output.js";
import { serve } from "./serve.js";

/** SIGTERM and SIGINT, caught from the first moment on. */
export interface StopSignals {
  /** Calls `stop` at the first signal, even if it has already come; a second one ends the process at once. */
  onStop(stop: (signal: NodeJS.Signals) => void): void;
}

/** What the settings name; null where they cannot be read. */
function partsNamed(): PartsNamed | null {
  try {
    const config = readConfig(process.env);
    return { engine: seriesEngine(config), timezones: config.timeZones.version };
  } catch {
    return null;
  }
}

/** Every command but `serve`. */
export async function runCommand(given: readonly string[]): Promise<void> {
  endWithReader();
  goOnWithoutErrorOutput();
  const wanted = helpWanted(given);
  if (wanted !== undefined) {
    const text = helpOn(wanted);
    if (text === undefined) return refuse(unknownCommand(wanted ?? ""));
    process.stdout.write(text);
    return;
  }
  const text = await printed(given, partsNamed);
  if (text !== undefined) return void process.stdout.write(text);
  const [command = "serve", ...args] = given;
  if (command === "completion") return refuse(`completion is for one of ${shells.join(", ")}`);
  if (command === "version") return refuse(`version takes no ${args[0]}`);
  if (command === "serve") {
    return refuse(`serve takes no ${args[0]}; settings are read from the environment`);
  }
  const tool = Object.hasOwn(tools, command) ? tools[command] : undefined;
  if (tool === undefined) return refuse(unknownCommand(command));
  const code = await runTool(tool, args, readConfig(process.env));
  // A tool may have said that what it found is bad.
  if (code !== 0) process.exitCode = code;
}

function refuse(problem: string): void {
  process.stderr.write(`tidemark: ${problem}\n`);
  process.exitCode = 2;
}

export async function serveUntilStopped(signals: StopSignals): Promise<void> {
  // Nobody else may read files that the service makes, databases and their logs included.
  process.umask(0o077);
  goOnWithoutErrorOutput();
  let reload: (() => Promise<void>) | null = null;
  process.on("SIGHUP", () => void reload?.());
  const config = readConfig(process.env);
  const output = createLogOutput(process.stdout, systemClock.now);
  const log = createLogger(config.logLevel, output.write, systemClock.now, () => output.dropped);
  const fatal = (error: unknown): void => {
    log.error("the service cannot go on; start it again, nothing acknowledged is lost", { error });
    process.exit(1);
  };
  const stopRequested = new AbortController();
  const starting = serve(config, log, fatal, systemClock, stopRequested.signal);
  const end = (): void => {
    log.info("stopped");
    process.exit(0);
  };
  signals.onStop((signal) => {
    log.info("stopping", { signal });
    stopRequested.abort();
    const stopping = starting.then(
      (service) => service.close().then(end),
      // A start that waited for what is away is given up; one that has failed otherwise reports itself.
      (error: unknown) => (isUnavailable(error) ? end() : undefined),
    );
    stopping.catch(fatal);
  });
  const service = await starting;
  reload = service.reload;
}

/** Prints the error on stderr and ends the process: with code 2 for settings, otherwise 1. */
export function refuseStart(error: unknown): never {
  const lines =
    error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) process.stderr.write(`tidemark: ${line}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
}

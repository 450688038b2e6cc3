/** The program: `tidemark serve`, and the tools that work on a deployment. Loads nothing before it can be stopped. */
async function main(): Promise<void> {
  const given = process.argv.slice(2);
  if (given.length === 0 || (given.length === 1 && given[0] === "serve")) {
    return serveUntilStopped(catchStopSignals());
  }
  const { helpOn, helpWanted, unknownCommand } = await import("./cli/usage.js");
  const wanted = helpWanted(given);
  if (wanted !== undefined) {
    const text = helpOn(wanted);
    if (text === undefined) return refuse(unknownCommand(wanted ?? ""));
    process.stdout.write(text);
    return;
  }
  const [command = "serve", ...args] = given;
  if (command === "serve") {
    return refuse(`serve takes no ${args[0]}; settings are read from the environment`);
  }
  const { runTool, tools } = await import("./cli/tools.js");
  const tool = Object.hasOwn(tools, command) ? tools[command] : undefined;
  if (tool === undefined) return refuse(unknownCommand(command));
  const { readConfig } = await import("./config/config.js");
  process.exitCode = await runTool(tool, args, readConfig(process.env));
}

function refuse(problem: string): void {
  process.stderr.write(`tidemark: ${problem}\n`);
  process.exitCode = 2;
}

async function serveUntilStopped(signals: StopSignals): Promise<void> {
  // Nobody else may read files that the service makes, databases and their logs included.
  process.umask(0o077);
  let reload: (() => Promise<void>) | null = null;
  // Caught even before there is anything to reload: SIGHUP must not end the process.
  process.on("SIGHUP", () => void reload?.());
  const { readConfig } = await import("./config/config.js");
  const config = readConfig(process.env);
  const { createLogger } = await import("./observability/log.js");
  const { systemClock } = await import("../store/lib/clock.js");
  const log = createLogger(config.logLevel, (line) => process.stdout.write(line), systemClock.now);
  const fatal = (error: unknown): void => {
    log.error("the service cannot go on; start it again, nothing acknowledged is lost", { error });
    process.exit(1);
  };
  const { serve } = await import("./serve.js");
  const starting = serve(config, log, fatal);
  signals.onStop((signal) => {
    log.info("stopping", { signal });
    const stopping = starting.then(
      (service) =>
        service.close().then(() => {
          log.info("stopped");
          process.exit(0);
        }),
      // A failed start has reported itself.
      () => undefined,
    );
    stopping.catch(fatal);
  });
  const service = await starting;
  reload = service.reload;
}

/** SIGTERM and SIGINT, caught from the first moment on: a signal during a start is handled once the start is done. */
interface StopSignals {
  /** Calls `stop` at the first signal, even if it has already come; a second one ends the process at once. */
  onStop(stop: (signal: NodeJS.Signals) => void): void;
}

function catchStopSignals(): StopSignals {
  let asked: NodeJS.Signals | null = null;
  let stop: ((signal: NodeJS.Signals) => void) | null = null;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (asked !== null) process.exit(1);
      asked = signal;
      stop?.(signal);
    });
  }
  return {
    onStop: (given) => {
      stop = given;
      if (asked !== null) given(asked);
    },
  };
}

main().catch(async (error: unknown) => {
  const { ConfigError } = await import("./config/config.js");
  const lines =
    error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) process.stderr.write(`tidemark: ${line}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
});

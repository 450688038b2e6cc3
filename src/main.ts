import { asError } from "../store/errors.js";
import { ConfigError, readConfig } from "./config.js";
import { createLogger } from "./log.js";
import { serve } from "./serve.js";
import { runTool, tools } from "./tools.js";

/** The program: `tidemark serve`, and the tools that work on a deployment. */
async function main(): Promise<void> {
  const [command = "serve", ...args] = process.argv.slice(2);
  const config = readConfig(process.env);
  if (command !== "serve") {
    process.exitCode = await runTool(command, args, config);
    return;
  }
  const log = createLogger(config.logLevel, (line) => process.stdout.write(line), Date.now);
  const fatal = (error: Error): void => {
    log.error("the service cannot go on; start it again, nothing acknowledged is lost", { error });
    process.exit(1);
  };
  let reload: (() => Promise<void>) | null = null;
  // Also before there is anything to reload: SIGHUP must not end the process.
  process.on("SIGHUP", () => void reload?.());
  const service = await serve(config, log, fatal);
  reload = service.reload;
  let stopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stopping = true;
      log.info("stopping", { signal });
      service.close().then(
        () => {
          log.info("stopped");
          process.exit(0);
        },
        (error: unknown) => fatal(asError(error)),
      );
    });
  }
}

main().catch((error: unknown) => {
  const lines =
    error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) process.stderr.write(`tidemark: ${line}\n`);
  if (!(error instanceof ConfigError))
    process.stderr.write(`commands: serve, ${Object.keys(tools).join(", ")}\n`);
  process.exit(error instanceof ConfigError ? 2 : 1);
});

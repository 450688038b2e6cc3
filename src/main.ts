/** The program: `tidemark serve`, and the tools that work on a deployment. Loads nothing before it can be stopped. */
import type { StopSignals } from "./program.js";

/** A signal that comes while the program is loaded or the service starts is handled after that. */
function catchStopSignals(): StopSignals {
  let stopSignal: NodeJS.Signals | null = null;
  let stop: ((signal: NodeJS.Signals) => void) | null = null;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stopSignal !== null) process.exit(1);
      stopSignal = signal;
      stop?.(signal);
    });
  }
  // Its listener comes with the service; until then it must not end the process.
  process.on("SIGHUP", () => undefined);
  return {
    onStop: (given) => {
      stop = given;
      if (stopSignal !== null) given(stopSignal);
    },
  };
}

const given = process.argv.slice(2);
const isService = given.length === 0 || (given.length === 1 && given[0] === "serve");
const signals = isService ? catchStopSignals() : null;
const program = await import("./program.js");
await (signals === null ? program.runCommand(given) : program.serveUntilStopped(signals)).catch(
  program.refuseStart,
);

// npm run dev: rebuilds what changes, and restarts the service once all of it compiles. bootstrap.mjs has made the
// first build. Plain JavaScript, because it is outside of what it builds.
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (path) => join(root, path);

// Progress that nobody reads stops nothing.
process.stderr.on("error", () => undefined);

// In a process group of its own, so that the processes that npm's tsc starts end with it.
const compiler = spawn(
  process.execPath,
  [at("node_modules/typescript/bin/tsc"), "--watch", "--preserveWatchOutput", "-p", at("tsconfig.json")],
  { stdio: ["ignore", "pipe", "inherit"], detached: true },
);
let service = null;
let isStopping = false;
/** One restart at a time; the next one includes everything built meanwhile. */
let restarting = null;
let again = false;

function start() {
  const child = spawn(process.execPath, ["--enable-source-maps", at("dist/src/main.js"), "serve"], {
    stdio: "inherit",
  });
  service = { child, ended: new Promise((resolve) => child.once("exit", resolve)) };
}

async function stop() {
  if (service === null) return;
  service.child.kill("SIGTERM");
  await service.ended;
  service = null;
}

async function restart() {
  do {
    again = false;
    await stop();
    if (!isStopping) start();
  } while (again);
  restarting = null;
}

createInterface({ input: compiler.stdout }).on("line", (line) => {
  process.stderr.write(`${line}\n`);
  if (!/Found 0 errors/.test(line)) return;
  again = true;
  restarting ??= restart();
});

async function end(code) {
  if (isStopping) return;
  isStopping = true;
  try {
    process.kill(-compiler.pid, "SIGTERM");
  } catch {
    // The service has ended by itself.
  }
  await restarting;
  await stop();
  process.exit(code);
}

compiler.once("exit", () => void end(1));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void end(0));

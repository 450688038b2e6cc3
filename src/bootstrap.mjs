// node src/bootstrap.mjs <program in dist> [args...]
// Makes a fresh clone runnable: installs the locked dependencies if they are not there, builds if a source has
// changed, then becomes the program. Plain JavaScript without dependencies, because neither exists before it.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** As package.json has it under engines. */
const nodeMin = [20, 19];
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (path) => join(root, path);
const sourceRoots = ["src", "ingest", "query", "store", "test", "bench"];
const stamp = at("dist/.built");
const lock = at("dist/.lock");

// Progress that nobody reads stops nothing.
process.stderr.on("error", () => undefined);

function fail(message) {
  process.stderr.write(`tidemark: ${message}\n`);
  process.exit(1);
}

function read(path) {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function filesUnder(dir, ending) {
  const walk = (path) =>
    fs.readdirSync(at(path), { withFileTypes: true }).flatMap((entry) => {
      const inner = `${path}/${entry.name}`;
      if (entry.isDirectory()) return walk(inner);
      return entry.name.endsWith(ending) ? [inner] : [];
    });
  return fs.existsSync(at(dir)) ? walk(dir) : [];
}

// By content, not by time: a checkout that only touches package-lock.json must not ask the network.
function isInstalled() {
  const present = read(at("node_modules/.package-lock.json"));
  if (present === undefined) return false;
  const packages = JSON.parse(present).packages;
  return Object.entries(JSON.parse(read(at("package-lock.json")) ?? "{}").packages).every(
    ([path, { version, integrity, optional, devOptional }]) =>
      path === "" ||
      optional ||
      devOptional ||
      (packages[path]?.version === version &&
        packages[path].integrity === integrity &&
        fs.existsSync(at(path))),
  );
}

// Paths, sizes and times of all that the build reads: notices sources that were removed or put back as well.
function fingerprint() {
  const inputs = [
    ...sourceRoots.flatMap((dir) =>
      [".ts", ".tsx", ".css", ".woff2"].flatMap((ending) => filesUnder(dir, ending)),
    ),
    "src/bundle.mjs",
    "tsconfig.json",
    "src/console/tsconfig.json",
    "package-lock.json",
  ];
  const lines = inputs.sort().map((path) => {
    const { size, mtimeMs } = fs.statSync(at(path));
    return `${path} ${size} ${mtimeMs}`;
  });
  return createHash("sha256").update(lines.join("\n")).digest("hex");
}

const outputOf = (source) => at(`dist/${source.slice(0, -3)}.js`);
const sourceOf = (output) => at(output.replace(/^dist\//, "").replace(/\.js(\.map)?$/, ".ts"));

function isBuilt(program) {
  return fs.existsSync(program) && fs.existsSync(at("dist/.tsbuildinfo")) && read(stamp) === fingerprint();
}

// Both children write to stderr: standard output belongs to the program.
function run(what, command, args) {
  process.stderr.write(`tidemark: ${what}\n`);
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status === 0) return;
  fail(`cannot go on: ${what} failed (${error?.message ?? signal ?? `exit code ${status}`}), see above`);
}

function install() {
  const npm = process.env.npm_execpath;
  const [command, first] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []];
  run("installing the locked dependencies (npm ci)", command, [
    ...first,
    "ci",
    "--include=dev",
    "--ignore-scripts",
  ]);
}

function build() {
  const before = fingerprint(); // what changes while tsc runs is built by the next start
  const stale = sourceRoots
    .flatMap((dir) => [...filesUnder(`dist/${dir}`, ".js"), ...filesUnder(`dist/${dir}`, ".js.map")])
    .filter((output) => !fs.existsSync(sourceOf(output)));
  for (const output of stale) fs.rmSync(at(output), { force: true });
  const sources = sourceRoots
    .flatMap((dir) => filesUnder(dir, ".ts"))
    .filter((path) => !path.endsWith(".d.ts") && !path.startsWith("src/console/app/"));
  // An incremental tsc does not write again what it believes is there.
  if (!sources.every((source) => fs.existsSync(outputOf(source)))) {
    fs.rmSync(at("dist/.tsbuildinfo"), { force: true });
  }
  fs.rmSync(stamp, { force: true });
  run("building (tsc)", process.execPath, [at("node_modules/typescript/bin/tsc"), "-p", at("tsconfig.json")]);
  run("describing the interface", process.execPath, [at("dist/src/api/generate.js")]);
  run("bundling the service", process.execPath, [at("src/bundle.mjs")]);
  run("checking the console (tsc)", process.execPath, [
    at("node_modules/typescript/bin/tsc"),
    "-p",
    at("src/console/tsconfig.json"),
  ]);
  run("building the console", process.execPath, [at("dist/src/console/build.js")]);
  fs.writeFileSync(stamp, before);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// The lock appears by link(), so it has its owner's pid in it from the first moment.
async function withLock(work) {
  fs.mkdirSync(dirname(lock), { recursive: true });
  const claim = `${lock}.${process.pid}`;
  fs.writeFileSync(claim, String(process.pid));
  process.once("exit", () => fs.rmSync(claim, { force: true }));
  for (;;) {
    try {
      fs.linkSync(claim, lock);
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      const owner = Number(read(lock));
      if (owner > 0 && !isAlive(owner)) fs.rmSync(lock, { force: true });
      else await new Promise((wake) => setTimeout(wake, 100));
    }
  }
  const release = () => fs.rmSync(lock, { force: true });
  process.once("exit", release); // `work` may end the process
  work();
  release();
  process.off("exit", release);
  fs.rmSync(claim, { force: true });
}

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1])) {
  fail(`needs Node.js ${nodeMin.join(".")} or newer, this is ${process.versions.node}`);
}
const [given, ...args] = process.argv.slice(2);
if (!given) fail("usage: node src/bootstrap.mjs <program in dist> [args...]");
const program = resolve(root, given);
if (!isInstalled() || !isBuilt(program)) {
  await withLock(() => {
    if (!isInstalled()) install();
    if (!isBuilt(program)) build();
  });
}
if (!fs.existsSync(program)) fail(`cannot run ${given}: the build does not make it`);
process.argv = [process.execPath, program, ...args];
process.setSourceMapsEnabled(true);
await import(pathToFileURL(program).href);

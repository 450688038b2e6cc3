/**
 * The test runner, in two tiers: plain files (**\/test/**\/*.test.js beside the compiled tree) need only Node, and fail
 * where they skip; with `--slow` it runs the others, *.slow.test.js. Words in argv choose the files whose path contains
 * one of them: of both tiers, or with `--slow` of the slow one. One process more at a time than there are cores
 * (`--files N`: so many); files that start programs or measure their process have one of their own, others share it.
 * The last line is "N passed, N failed, N skipped"; exit code 0 only if tests ran and all of them passed.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findInfluxd } from "./influxd/influxd.js";
import { findKafka } from "./kafka/find-kafka.js";
import { linkPlainPrograms } from "./plain-programs.js";
import type { Report, Reports } from "./suite.js";
import { compareFiles, isInFlow, isSlow, isTestFile, needsOwnProcess } from "./test-files.js";

const { values: flags, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    root: { type: "string", default: fileURLToPath(new URL("..", import.meta.url)) },
    "file-time-ms": { type: "string", default: "1200000" },
    slow: { type: "boolean", default: false },
    files: { type: "string", default: String(availableParallelism() + 1) },
  },
});
const root = flags.root;
const fileTimeMs = Number(flags["file-time-ms"]);
/** Files spend time waiting: as many files as there are cores would leave some of the cores idle. */
const lanes = Number(flags.files);
const slowestShown = 10;
const filesPerProcess = 16;
const slowFilesPerProcess = 4;
const group = fileURLToPath(new URL("./group.js", import.meta.url));
const began = performance.now();
const work = mkdtempSync(join(tmpdir(), "tidemark-test-"));
const running = new Set<number>();
const totals = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const skips: Report["skips"][number][] = [];
const times: { readonly file: string; readonly seconds: number }[] = [];

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const pid of running) killGroup(pid);
    process.exit(signal === "SIGINT" ? 130 : 143);
  });
}
process.on("exit", () => rmSync(work, { recursive: true, force: true, maxRetries: 3 }));

const files = testFiles();
/** Node keeps the code that it has compiled there: tests start the service hundreds of times. */
const common = { ...process.env, NODE_COMPILE_CACHE: join(work, "compiled") };
const plainEnvironment = { ...common, ...linkPlainPrograms(join(work, "bin")) };
const slowEnvironment = files.some(isSlow) ? await findTools() : common;
await runAll();
conclude();

function testFiles(): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter(isTestFile)
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .filter((path) => (flags.slow ? isSlow(path) : words.length > 0 || !isSlow(path)))
    .sort(compareFiles);
}

/** Finds or builds influxd and Kafka before any test's clock runs. Returns the environment for the children. */
async function findTools(): Promise<NodeJS.ProcessEnv> {
  const kafka = await findKafka();
  const withKafka =
    "lib" in kafka
      ? { ...common, TIDEMARK_TEST_KAFKA: kafka.lib }
      : { ...common, TIDEMARK_TEST_KAFKA_MISSING: kafka.missing };
  if (process.env.INFLUX_URL) return withKafka;
  const found = await findInfluxd();
  return "path" in found
    ? { ...withKafka, TIDEMARK_TEST_INFLUXD: found.path }
    : { ...withKafka, TIDEMARK_TEST_INFLUXD_MISSING: found.missing };
}

async function runAll(): Promise<void> {
  const inFlow = files.filter(isInFlow);
  const others = files.filter((file) => !isInFlow(file));
  const shared = others.filter((file) => !needsOwnProcess(file));
  const flow = inFlow.map((file) => [file]);
  const long = others.filter(needsOwnProcess).map((file) => [file]);
  // Tiers never share a process: their environments differ.
  const short = [
    ...inGroups(shared.filter(isSlow), slowFilesPerProcess),
    ...inGroups(
      shared.filter((file) => !isSlow(file)),
      filesPerProcess,
    ),
  ];
  const help = async (): Promise<void> => {
    await lane(long);
    await lane(short);
  };
  // Files under test/flow/ kill and time processes of their own: one at a time. Other long files, which start several
  // services too, have a lane of their own, so that only few of them meet; each lane helps the others when it has done.
  await Promise.all([
    lane(flow).then(help),
    ...(lanes > 1 ? [help()] : []),
    ...Array.from({ length: Math.max(0, lanes - 2) }, () => lane(short).then(help)),
  ]);
}

function inGroups(all: readonly string[], size: number): string[][] {
  const groups = Math.ceil(all.length / size);
  // Neighbours in the alphabet are alike: dealt out, long ones do not meet in one group.
  return Array.from({ length: groups }, (_, n) => all.filter((_, i) => i % groups === n));
}

/** Runs what is at the head of `queue`, which lanes may share, until nothing is left. */
async function lane(queue: string[][]): Promise<void> {
  for (let some = queue.shift(); some !== undefined; some = queue.shift()) await runProcess(some);
}

/** Runs the files in one process, in order. */
async function runProcess(some: readonly string[]): Promise<void> {
  const dir = mkdtempSync(join(work, "f"));
  const reportPath = join(dir, "report.json");
  const logPath = join(dir, "output.log");
  const temp = join(dir, "tmp");
  mkdirSync(temp);
  const processBegan = performance.now();
  const end = await runChild(some, logPath, { TIDEMARK_TEST_REPORT: reportPath, TMPDIR: temp });
  const seconds = (performance.now() - processBegan) / 1000;

  const reports = readReports(reportPath);
  // If one of several files fails, their process ends with an error; that is no failure of the others.
  const isExplained =
    some.length > 1 && reports.some((report) => report.failed > 0 || report.passed + report.skipped === 0);
  const verdicts = some.map((file, i) => judge(file, reports[i], isExplained ? undefined : end));
  for (const [i, file] of some.entries()) {
    tell(file, some.length === 1 ? seconds : (reports[i]?.seconds ?? 0), reports[i], verdicts[i]);
  }
  if (verdicts.some((verdict) => verdict !== undefined)) {
    process.stdout.write(`${readFileSync(logPath, "utf8")}\n`);
  }
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

function tell(file: string, seconds: number, report: Report | undefined, verdict: string | undefined): void {
  times.push({ file, seconds });
  totals.passed += report?.passed ?? 0;
  totals.skipped += report?.skipped ?? 0;
  totals.failed += Math.max(report?.failed ?? 0, verdict === undefined ? 0 : 1);
  skips.push(...(report?.skips ?? []));
  failures.push(...(report?.failures ?? []).map((failure) => `${file}: ${failure}`));
  if (verdict !== undefined && !report?.failed) failures.push(`${file}: ${verdict}`);
  const counts = report ? `${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped` : "";
  console.log(
    `${verdict === undefined ? "ok  " : "FAIL"} ${file} (${seconds.toFixed(1)} s) ${verdict ?? counts}`,
  );
}

/** What is wrong with a file's run, or undefined. The report alone is not believed: the process must end well too. */
function judge(file: string, report: Report | undefined, end: string | undefined): string | undefined {
  if (!report) return `${end ?? "exit code 0"}, and left no report`;
  if (report.failed > 0) return `${report.failed} failed`;
  if (report.passed + report.skipped === 0) return end === undefined ? "no tests" : `no tests, ${end}`;
  if (report.skipped > 0 && !isSlow(file)) return `${report.skipped} skipped: a plain file needs only Node`;
  return end;
}

/** Undefined if the child ended with code 0; output of all its descendants goes to the log in the order written. */
async function runChild(
  some: readonly string[],
  logPath: string,
  extra: object,
): Promise<string | undefined> {
  const log = openSync(logPath, "a");
  // Leads a process group, so that servers which a crashed test leaves behind can be ended with it.
  const paths = some.map((file) => join(root, file));
  const program = paths.length > 1 ? [group, ...paths] : paths;
  const child = spawn(process.execPath, ["--enable-source-maps", ...program], {
    stdio: ["ignore", log, log],
    detached: true,
    env: { ...(some.every(isSlow) ? slowEnvironment : plainEnvironment), ...extra },
  });
  closeSync(log);
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    if (pid !== undefined) killGroup(pid);
  }, fileTimeMs);
  const end = await new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? code}`));
  });
  clearTimeout(timer);
  if (pid !== undefined) {
    running.delete(pid);
    killGroup(pid);
  }
  return late ? `took longer than ${fileTimeMs} ms` : end;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody left in it.
  }
}

/** One a file; none where the process left nothing. */
function readReports(path: string): Reports {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Reports;
  } catch {
    return [];
  }
}

function conclude(): void {
  const inCi = process.env.CI === "true";
  const influxSkips = skips.filter((skip) => skip.influx);
  const { passed, failed, skipped } = totals;
  for (const { name, reason, influx } of skips) if (!influx) console.log(`skipped: ${name}: ${reason}`);
  for (const failure of failures) console.log(`failed: ${failure}`);
  if (files.length === 0) console.log(`no test file${words.length > 0 ? ` matches ${words.join(" ")}` : ""}`);
  else if (passed === 0) console.log("no test passed");
  if (influxSkips.length > 0) {
    console.log(`\n${"!".repeat(78)}`);
    console.log(`THE INFLUXDB SUITES WERE SKIPPED: ${influxSkips.length} tests did not run.`);
    console.log(`Why: ${[...new Set(influxSkips.map((skip) => skip.reason))].join("; ")}.`);
    console.log("Install what is named, or set INFLUX_URL, INFLUX_TOKEN, INFLUX_ORG and INFLUX_BUCKET.");
    if (inCi) console.log("With CI=true this fails the run.");
    console.log("!".repeat(78));
  }
  const slowest = times.sort((a, b) => b.seconds - a.seconds).slice(0, slowestShown);
  for (const { file, seconds } of slowest) console.log(`slow: ${file} (${seconds.toFixed(1)} s)`);
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s, ${lanes} files at a time`);
  const good = passed > 0 && failed === 0 && skipped === skips.length && !(inCi && influxSkips.length > 0);
  process.exitCode = good ? 0 : 1;
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
}

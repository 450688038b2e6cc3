/**
 * The only importer of uvu. uvu runs the bodies and prints; what counts is the ledger kept here: each test
 * declared must end as passed, failed or skipped with a reason, and whatever is left open at exit has failed.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { findInfluxd, type InfluxServer, startInflux } from "./influxd/influxd.js";
import { type Brokers, startBrokers } from "./kafka/brokers.js";
import { findKafka } from "./kafka/find-kafka.js";
import { networksMissing } from "./networks/networks.js";

export * as assert from "uvu/assert";

export type Body = () => void | Promise<void>;

interface Hook {
  (body: Body): void;
  each(body: Body): void;
}

export interface Test {
  /** `timeoutMs` bounds the body and each hook around it; default 300,000. */
  (name: string, body: Body, limits?: { readonly timeoutMs: number }): void;
  /** For the minutes at the keyboard: runs alone within its suite, and the run fails. */
  only(name: string, body: Body): void;
  skip(name: string, reason: string, body?: Body): void;
  readonly before: Hook;
  readonly after: Hook;
}

/** What a process leaves for the runner, as JSON in the file named by TIDEMARK_TEST_REPORT: a report a test file. */
export type Reports = readonly Report[];

export interface Report {
  /** From the first hook of its suites to the last, beside what it took to load. */
  readonly seconds: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  readonly skips: readonly { readonly name: string; readonly reason: string; readonly influx: boolean }[];
}

interface Case {
  readonly name: string;
  readonly body: Body | undefined;
  readonly only: boolean;
  readonly timeoutMs: number;
  outcome: "waiting" | "running" | "passed" | "failed" | "skipped";
  reason: string;
}

interface Plan {
  /** Which of the process's test files it stands in. */
  readonly file: number;
  readonly name: string;
  readonly influx: boolean;
  /** Why what it needs is not there; undefined if it is, or if it needs nothing. */
  readonly missing: () => Promise<string | undefined>;
  readonly cases: Case[];
  readonly before: Body[];
  readonly beforeEach: Body[];
  readonly afterEach: Body[];
  readonly after: Body[];
  /** When its first hook began, and its last had ended. */
  began: number;
  ended: number;
}

const bodyTimeMs = 300_000;
const lingerTimeMs = 10_000;

// Read before uvu loads: with it, uvu leaves the start to us. Its queue survives an exec, so each gets a new one.
Object.assign(globalThis, { UVU_DEFER: 1, UVU_QUEUE: [[null]] });
const uvu = await import("uvu");

const reportPath = process.env.TIDEMARK_TEST_REPORT;
delete process.env.TIDEMARK_TEST_REPORT; // programs that a test starts must not write over our report

const plans: Plan[] = [];
const problems: { readonly file: number; readonly text: string }[] = [];
/** The file that is being loaded, if the process runs several. */
let file = 0;
let filesBegun = 0;
let waiting: Plan[] = [];
let draining = false;

/** Loads several test files into this process, then runs their suites in order. */
export function runFiles(urls: readonly URL[]): void {
  start(async () => {
    for (const url of urls) {
      file = filesBegun++;
      await import(url.href).catch((error) => problem(`cannot be loaded: ${asError(error).stack}`));
    }
    await drain();
  });
}

function problem(text: string, of = file): void {
  problems.push({ file: of, text });
}

/** Declares a suite; it runs once the file has loaded. `define` must be synchronous. */
export function suite(name: string, define: (test: Test) => void): void {
  enlist(collect(name, { influx: false, missing: async () => undefined }, define));
}

/** Starts on the first use; closes what was started. */
function onFirstUse<Server extends { close(): Promise<void> }>(start: () => Promise<Server>) {
  let server: Promise<Server> | undefined;
  return {
    get: () => {
      server ??= start();
      return server;
    },
    close: async () => (await server?.catch(() => undefined))?.close(),
  };
}

/**
 * A suite that needs InfluxDB. `influx()` starts a server of its own on first use and closes it after the suite.
 * Without any influxd every test counts as skipped, with the reason, and the runner says so.
 */
export function influxSuite(
  name: string,
  define: (test: Test, influx: () => Promise<InfluxServer>) => void,
): void {
  const influx = onFirstUse(() => startInflux());
  const plan = collect(name, { influx: true, missing: influxMissing }, (test) => define(test, influx.get));
  plan.after.push(influx.close);
  enlist(plan);
}

/** A suite that needs both; as each of them, with the cluster that `start` makes. */
export function influxKafkaSuite(
  name: string,
  define: (
    test: Test,
    servers: { readonly influx: () => Promise<InfluxServer>; readonly brokers: () => Promise<Brokers> },
  ) => void,
  start: () => Promise<Brokers> = () => startBrokers(3),
): void {
  const [influx, brokers] = [onFirstUse(() => startInflux()), onFirstUse(start)];
  const missing = async () => (await influxMissing()) ?? (await kafkaMissing());
  const servers = { influx: influx.get, brokers: brokers.get };
  const plan = collect(name, { influx: true, missing }, (test) => define(test, servers));
  plan.after.push(influx.close, brokers.close);
  enlist(plan);
}

/**
 * A suite that needs Kafka. `brokers()` starts a cluster of three, or what `start` makes, on first use and closes it
 * after the suite. Without Java, or Maven to fetch Kafka, or what `start` needs besides, every test counts as skipped,
 * with the reason.
 */
export function kafkaSuite(
  name: string,
  define: (test: Test, brokers: () => Promise<Brokers>) => void,
  start: () => Promise<Brokers> = () => startBrokers(3),
  startMissing: () => string | undefined = () => undefined,
): void {
  const brokers = onFirstUse(start);
  const missing = async () => (await kafkaMissing()) ?? startMissing();
  const plan = collect(name, { influx: false, missing }, (test) => define(test, brokers.get));
  plan.after.push(brokers.close);
  enlist(plan);
}

/** A suite that needs network namespaces. Where there can be none, every test counts as skipped, with the reason. */
export function networksSuite(name: string, define: (test: Test) => void): void {
  enlist(collect(name, { influx: false, missing: async () => networksMissing() }, define));
}

/** The same of a suite that runs brokers and InfluxDB in some. */
export function clusterNetworksSuite(
  name: string,
  define: (test: Test) => void,
  moreMissing: () => string | undefined = () => undefined,
): void {
  const missing = async () =>
    networksMissing() ?? (await influxMissing()) ?? (await kafkaMissing()) ?? moreMissing();
  enlist(collect(name, { influx: false, missing }, define));
}

/**
 * Waits until `condition` gives something truthy and returns it; a condition that throws is not yet met.
 * Rejects after `timeoutMs` (60,000) naming `what`, with the last error as cause.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: { readonly what: string; readonly timeoutMs?: number },
): Promise<Exclude<T, false | 0 | "" | null | undefined>> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    try {
      const value = await condition();
      if (value) return value as Exclude<T, false | 0 | "" | null | undefined>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) {
      const last = cause === undefined ? "" : `; last: ${asError(cause).message}`;
      throw new Error(`waited ${timeoutMs} ms for ${options.what}${last}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Milliseconds of CPU time that this process has taken since: what others do on the machine does not count. */
export function cpuTime(): () => number {
  const begun = process.cpuUsage();
  return () => process.cpuUsage(begun).user / 1000;
}

/** Like `cpuTime`, but of the main thread only where the system reports it (Linux): worker threads do not count. */
function mainThreadTime(): () => number {
  const path = `/proc/self/task/${process.pid}/schedstat`;
  if (!existsSync(path)) return cpuTime();
  const runMs = () => Number.parseInt(readFileSync(path, "latin1"), 10) / 1e6;
  const begun = runMs();
  return () => runMs() - begun;
}

/** Turns of the loop since, and the CPU time that the longest one took of the main thread, milliseconds. */
export function watchTurns(): { stop(): { readonly count: number; readonly longestMs: number } } {
  let [count, longestMs, taken] = [0, 0, mainThreadTime()];
  const look = (): void => {
    count++;
    longestMs = Math.max(longestMs, taken());
    taken = mainThreadTime();
    next = lookNext();
  };
  // Unreferenced: a turn comes when there is something to do, and otherwise the loop does not spin.
  const lookNext = (): NodeJS.Immediate => setImmediate(look).unref();
  let next = lookNext();
  return {
    stop: () => {
      clearImmediate(next);
      return { count, longestMs: Math.max(longestMs, taken()) };
    },
  };
}

/** A new folder under the system's temporary one, for `before` hooks; `close` removes it with what is in it. */
export async function openTempDir(): Promise<{ readonly path: string; close(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "tidemark-"));
  return { path, close: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) };
}

export async function withTempDir<T>(use: (path: string) => T | Promise<T>): Promise<T> {
  const dir = await openTempDir();
  try {
    return await use(dir.path);
  } finally {
    await dir.close();
  }
}

/** The error that `action` rejects with; fails if it does not, or if its message does not match. */
export async function rejects(action: () => Promise<unknown>, message?: RegExp): Promise<Error> {
  const error = await action().then(
    () => undefined,
    (reason: unknown) => asError(reason),
  );
  if (error === undefined) throw new Error("expected a rejection, got none");
  if (message && !message.test(error.message)) {
    throw new Error(`expected a rejection matching ${message}, got: ${error.message}`, { cause: error });
  }
  return error;
}

function collect(name: string, needs: Pick<Plan, "influx" | "missing">, define: (test: Test) => void): Plan {
  const hooks = { before: [], beforeEach: [], afterEach: [], after: [] };
  const plan: Plan = { file, name, ...needs, cases: [], ...hooks, began: 0, ended: 0 };
  let open = true;
  const add = (entry: Omit<Case, "outcome" | "reason">, reason = "") => {
    if (!open) throw new Error(`cannot add "${entry.name}" to suite "${name}": it is already defined`);
    plan.cases.push({ ...entry, outcome: entry.body ? "waiting" : "skipped", reason });
  };
  const hook = (all: Body[], each: Body[]): Hook =>
    Object.assign((body: Body) => void all.push(body), { each: (body: Body) => void each.push(body) });
  const test: Test = Object.assign(
    (title: string, body: Body, limits = { timeoutMs: bodyTimeMs }) =>
      add({ name: title, body, only: false, timeoutMs: limits.timeoutMs }),
    {
      only: (title: string, body: Body) => add({ name: title, body, only: true, timeoutMs: bodyTimeMs }),
      skip: (title: string, reason: string) => {
        if (!reason) problem(`${name} › ${title}: skipped without a reason`);
        add({ name: title, body: undefined, only: false, timeoutMs: 0 }, reason);
      },
      before: hook(plan.before, plan.beforeEach),
      after: hook(plan.after, plan.afterEach),
    },
  );
  const result: unknown = define(test);
  open = false;
  if (result instanceof Promise) throw new Error(`cannot define suite "${name}": define is asynchronous`);
  return plan;
}

function enlist(plan: Plan): void {
  plans.push(plan);
  waiting.push(plan);
  if (plan.cases.length === 0) problem(`${plan.name}: no tests`);
  if (plan.cases.some((entry) => entry.only)) problem(`${plan.name}: .only left behind`);
  if (draining) return;
  start(drain);
}

function start(work: () => Promise<void>): void {
  draining = true;
  setTimeout(() => void work().catch((error) => problem(`runner: ${asError(error).stack}`)));
}

async function drain(): Promise<void> {
  while (waiting.length > 0) {
    const batch = waiting;
    waiting = [];
    Object.assign(globalThis, { UVU_QUEUE: [[null]] });
    for (const plan of batch) await load(plan);
    await uvu.exec();
  }
  draining = false;
  setTimeout(() => {
    if (draining) return;
    // A test that failed midway has closed nothing: that is no fault of the file that came last.
    const hasFailed = plans.some(({ cases }) => cases.some(({ outcome }) => outcome === "failed"));
    if (!hasFailed)
      problem(`still alive ${lingerTimeMs} ms after the last test: ${process.getActiveResourcesInfo()}`);
    process.exit(1);
  }, lingerTimeMs).unref();
}

async function load(plan: Plan): Promise<void> {
  const missing = await plan.missing();
  if (missing !== undefined) {
    for (const entry of plan.cases) Object.assign(entry, { outcome: "skipped", reason: missing });
  }
  const runnable = plan.cases.filter((entry) => entry.outcome === "waiting");
  if (runnable.length === 0) return;
  const group = uvu.suite(plan.name);
  const broken: Error[] = [];
  group.before(async () => {
    plan.began = performance.now();
    broken.push(...(await failuresOf(plan.before, bodyTimeMs)));
  });
  for (const entry of runnable) {
    const run = () => runCase(plan, entry, broken);
    if (entry.only) group.only(entry.name, run);
    else group(entry.name, run);
  }
  group.after(async () => {
    for (const body of plan.after) {
      for (const error of await failuresOf([body], bodyTimeMs)) {
        problem(`${plan.name}, after hook: ${error.stack ?? error.message}`, plan.file);
      }
    }
    plan.ended = performance.now();
  });
  group.run();
}

async function influxMissing(): Promise<string | undefined> {
  if (process.env.INFLUX_URL) return undefined;
  const found = await findInfluxd();
  return "missing" in found ? found.missing : undefined;
}

async function kafkaMissing(): Promise<string | undefined> {
  const found = await findKafka();
  return "missing" in found ? found.missing : undefined;
}

async function runCase(plan: Plan, entry: Case, broken: readonly Error[]): Promise<void> {
  entry.outcome = "running";
  const errors = [...broken];
  if (broken.length === 0 && entry.body) {
    errors.push(...(await failuresOf([...plan.beforeEach, entry.body], entry.timeoutMs)));
    for (const body of plan.afterEach) errors.push(...(await failuresOf([body], entry.timeoutMs)));
  }
  const [first, ...others] = errors;
  entry.outcome = first ? "failed" : "passed";
  if (!first) return;
  entry.reason = first.message;
  for (const error of [first.cause, ...others]) if (error !== undefined) console.error(error);
  throw first; // uvu prints it with the difference of the two values
}

/** Runs the steps in order up to the first that throws or takes longer than `timeoutMs`. */
async function failuresOf(steps: readonly Body[], timeoutMs: number): Promise<Error[]> {
  for (const step of steps) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      // Unreferenced: when nothing else is left to happen, the exit says at once that the test hangs.
      timer = setTimeout(() => reject(new Error(`did not finish in ${timeoutMs} ms`)), timeoutMs).unref();
    });
    try {
      await Promise.race([step(), late]);
    } catch (error) {
      return [asError(error)];
    } finally {
      clearTimeout(timer);
    }
  }
  return [];
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`thrown: ${inspect(thrown)}`);
}

const openEnds = { waiting: "did not run", running: "did not finish" } as const;

function reportOf(one: number): Report {
  const own = plans.filter((plan) => plan.file === one);
  const seconds = own.reduce((sum, { began, ended }) => sum + Math.max(0, ended - began), 0) / 1000;
  const entries = own.flatMap((plan) => plan.cases.map((entry) => ({ plan, entry })));
  const faults = problems.filter((fault) => fault.file === one).map(({ text }) => text);
  const failures = entries.flatMap(({ plan, entry: { name, outcome, reason } }) => {
    if (outcome === "passed" || outcome === "skipped") return [];
    return [`${plan.name} › ${name}: ${outcome === "failed" ? reason : openEnds[outcome]}`];
  });
  const skips = entries.flatMap(({ plan, entry: { name, outcome, reason } }) =>
    outcome === "skipped" ? [{ name: `${plan.name} › ${name}`, reason, influx: plan.influx }] : [],
  );
  const passed = entries.length - failures.length - skips.length;
  const failed = failures.length + faults.length;
  return { seconds, passed, failed, skipped: skips.length, failures: [...failures, ...faults], skips };
}

process.on("exit", (code) => {
  // A program that only borrows our tools has no tests to report.
  if (filesBegun === 0 && plans.length === 0 && !/\.test\.js$/.test(process.argv[1] ?? "")) return;
  const reports: Reports = Array.from({ length: Math.max(1, filesBegun) }, (_, one) => reportOf(one));
  if (reportPath) writeFileSync(reportPath, JSON.stringify(reports));
  for (const { text } of problems) console.error(text);
  const isGood = ({ passed, failed, skipped }: Report): boolean => failed === 0 && passed + skipped > 0;
  if (!reports.every(isGood)) process.exitCode = code || 1;
});

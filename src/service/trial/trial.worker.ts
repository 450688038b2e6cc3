import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { createCompiledRulesCache } from "../../../ingest/alerts/compiled-rules.js";
import { startAlertsConsumer } from "../../../ingest/alerts/consumer.js";
import { startSeriesConsumer } from "../../../ingest/consumers/series.js";
import { createDirectory } from "../../../ingest/directory/directory.js";
import { noIsolation } from "../../../ingest/followers/crash-isolation.js";
import { createMeter } from "../../../ingest/meter.js";
import { openSessions } from "../../../ingest/sessions/open.js";
import { zone } from "../../../query/zone.js";
import { peekRecord } from "../../../store/journal/frame.js";
import type { Journal } from "../../../store/journal/journal.js";
import { systemClock } from "../../../store/lib/clock.js";
import { StoreError } from "../../../store/lib/errors.js";
import type { Db, SqlValue } from "../../../store/metadata/db/db.js";
import type { SessionStore } from "../../../store/mqtt-sessions/session-store.js";
import type { SeriesStore } from "../../../store/series/series.js";
import { createConditions } from "../../alerts/conditions.js";
import { localTimeIn } from "../../import-export/points/local-time.js";
import type { FromTrial, ToTrial, TrialStart } from "./trial-messages.js";

/**
 * Processes one record as its follower does, with the follower's own code, in a thread with its own memory. The journal
 * holds that record, the metadata are only read, and the stores keep nothing.
 */

const start = workerData as TrialStart;
const port = parentPort;
if (port === null) throw new Error("trial.worker runs in a worker thread only");

const post = (message: FromTrial): void => port.postMessage(message);
const last = start.records.at(-1) ?? new Uint8Array(0);
const { id } = peekRecord(Buffer.from(last), 0);
const waits = new Map<number, { resolve(rows: unknown[]): void; reject(error: Error): void }>();
let calls = 0;

port.on("message", (message: ToTrial) => {
  const waiting = waits.get(message.call);
  waits.delete(message.call);
  if ("rows" in message) waiting?.resolve([...message.rows]);
  else
    waiting?.reject(
      message.code === null ? new Error(message.message) : new StoreError(message.code, message.message),
    );
});

/** Ignores effects that the record has already had, as in a replay: they must not keep it from being processed. */
function asBefore(row: unknown): unknown {
  const { journalID } = row as { readonly journalID?: unknown };
  return typeof journalID === "number" ? { ...(row as object), journalID: Math.min(journalID, id - 1) } : row;
}

function read<Row>(sql: string, args: readonly SqlValue[] = []): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const call = ++calls;
    waits.set(call, { resolve: (rows) => resolve(rows.map(asBefore) as Row[]), reject });
    post({ kind: "read", call, sql, args });
  });
}

const db = {
  shared: false,
  all: read,
  first: async <Row>(sql: string, args?: readonly SqlValue[]) => (await read<Row>(sql, args))[0],
  write: async () => [],
} as unknown as Db;

/** A journal with nothing else in it; appended records go nowhere. */
const journal = {
  committedID: id,
  appendedID: id,
  full: false,
  stopped: null,
  append: (_input: unknown, done?: (id: number) => void) => {
    if (done !== undefined) setImmediate(() => done(id));
    return id;
  },
  waitFor: () => new Promise<void>(() => undefined),
  read: async () => {
    const left = [...start.records];
    return {
      lastID: id,
      close: async () => undefined,
      next: async () => {
        const bytes = left.shift();
        return bytes === undefined ? null : { buffer: Buffer.from(bytes), offsets: [0], position: 0 };
      },
    };
  },
} as unknown as Journal;

const series = { checkpoint: async () => id - 1, write: async () => [] } as unknown as SeriesStore;
const store = {
  load: async () => start.saved ?? { sessions: [], messages: [], retained: [], wills: [] },
  savedID: async () => 0,
} as unknown as SessionStore;

const local = localTimeIn(zone(start.timezone));
const vault = { seal: () => new Uint8Array(0), open: () => "", openUnplaced: () => "" };
const directory = createDirectory({ db, vault }, 100);
const meter = createMeter();
const common = {
  journal,
  directory,
  db,
  meter,
  ...systemClock,
  narrow: noIsolation,
  rules: () => ({ local, earliest: start.earliest, oldest: start.oldest }),
  onFailed: () => undefined,
  onTrouble: () => undefined,
  onFailure: (error: Error) => {
    throw error;
  },
};

/** Resolves once the consumer has processed the record. */
async function follow(consumer: { readonly settledID: number; close(): Promise<void> }): Promise<void> {
  while (consumer.settledID < id) await delay(5);
  await consumer.close();
}

const trials = {
  series: async () =>
    follow(
      await startSeriesConsumer({
        ...common,
        series,
        pointsMax: 5000,
        lingerMs: 0,
        isAside: () => false,
      }),
    ),
  alerts: async () =>
    follow(
      await startAlertsConsumer({
        ...common,
        node: start.node,
        offlineGraceMs: 60_000,
        onCarried: () => undefined,
        // The service logs them.
        compiledRules: createCompiledRulesCache(db, createConditions(), () => undefined),
      }),
    ),
  sessions: async () => void (await openSessions(store, journal, meter, common)),
};

post({ kind: "begun" });
await trials[start.follower]();
post({ kind: "done" });
port.close();

/** Several nodes over one file of metadata, in a time that a test lets pass. */
import { join } from "node:path";
import { type ShardLeases, startShardLeases } from "../../src/cluster/shard-leases.js";
import { onAbort } from "../../store/lib/abortable.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { createStillClock } from "../clock.js";

interface Sleeper {
  readonly node: string;
  readonly at: number;
  wake(): void;
}

/** Is given the signal of a shard that is being taken. */
type Fault = (signal: AbortSignal) => Promise<void>;

export interface TestNode {
  readonly leases: ShardLeases;
  /** What the service was asked for, in its order: `take 3`, `ahead 3`, `give 3`, `lost 3`, `replaced`. */
  readonly calls: string[];
  /** Shards that it has said to be free, in its order. */
  readonly freed: number[];
  /** Lines of its log. */
  readonly lines: string[];
  /** Shards that are open in the service. */
  readonly open: Set<number>;
  /** What the service's next calls end with; by call. */
  readonly faults: Map<string, Fault>;
  /** Shards that those who are to get them still copy. */
  readonly notCopied: Set<number>;
  /** Shards that the service cannot open. */
  readonly cannotOpen: Set<number>;
  /** Ends its calls to the metadata with an error. */
  isCutOff: boolean;
  /** Whether it reaches the brokers. */
  isAble: boolean;
  /** What each answer of the metadata waits for, or fails with, on its way. */
  onAnswer: ((to: "read" | "write") => Promise<void>) | null;
  /** It gets no time: killed, if it stays so. */
  isPaused: boolean;
}

export interface LeaseNodes {
  start(number: number, owner?: string): Promise<TestNode>;
  /** Begins to start a node, which may have to wait. */
  begin(number: number, owner: string): Promise<TestNode>;
  /** Lets time pass, beat by beat, until nothing is under way. */
  pass(ms: number): Promise<void>;
  /** Resolves once nothing is under way but what waits for time, or for the test. */
  settle(): Promise<void>;
  /** By shard: the node in its row. */
  rows(): Promise<(number | null)[]>;
  readonly db: Db;
  close(): Promise<void>;
}

const stepMs = 500;
const never = new AbortController().signal;

export async function openLeaseNodes(
  folder: string,
  shards: number,
  numbers: readonly number[],
): Promise<LeaseNodes> {
  const url = `file:${join(folder, "metadata.db")}`;
  const db = await openDb({ url, shared: true });
  const clock = createStillClock();
  const sleepers = new Set<Sleeper>();
  const nodes = new Map<string, TestNode>();
  const dbs: Db[] = [db];
  let underWay = 0;

  async function counted<T>(work: Promise<T>): Promise<T> {
    underWay++;
    try {
      return await work;
    } finally {
      underWay--;
    }
  }

  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < 5; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (underWay > 0) quiet = 0;
    }
  }

  async function wakeDue(): Promise<void> {
    for (const sleeper of [...sleepers]) {
      if (sleeper.at > clock.monotonic() || nodes.get(sleeper.node)?.isPaused === true) continue;
      sleeper.wake();
      await settle();
    }
  }

  async function begin(number: number, owner: string): Promise<TestNode> {
    const own = await counted(openDb({ url, shared: true, migrates: false }));
    dbs.push(own);
    const node = {
      calls: [] as string[],
      freed: [] as number[],
      lines: [] as string[],
      open: new Set<number>(),
      faults: new Map<string, Fault>(),
      notCopied: new Set<number>(),
      cannotOpen: new Set<number>(),
      isCutOff: false,
      isAble: true,
      onAnswer: null as TestNode["onAnswer"],
      isPaused: false,
    };
    const reached = async <T>(to: "read" | "write", work: () => Promise<T>): Promise<T> => {
      if (node.isCutOff) throw new Error("away");
      const answer = await counted(work());
      await node.onAnswer?.(to);
      return answer;
    };
    const handler =
      (name: string, then: (shard: number) => void) =>
      async (shard: number, signal = never): Promise<void> => {
        const call = `${name} ${shard}`;
        node.calls.push(call);
        const fault = node.faults.get(call);
        node.faults.delete(call);
        await fault?.(signal);
        if (name === "take" && node.cannotOpen.has(shard)) throw new Error("damaged");
        then(shard);
      };
    const log = (msg: string): void => void node.lines.push(msg);
    const leases = await startShardLeases({
      db: {
        write: (statements) => reached("write", () => own.write(statements)),
        snapshot: (statements) => reached("read", () => own.snapshot(statements)),
      },
      isAble: () => node.isAble,
      shards,
      nodes: numbers,
      identity: { number, owner },
      clock,
      log: { debug: log, info: log, warn: log, error: log },
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          const wake = (): void => {
            sleepers.delete(sleeper);
            stopListening();
            resolve();
          };
          const sleeper = { node: owner, at: clock.monotonic() + ms, wake };
          sleepers.add(sleeper);
          const stopListening = onAbort(signal, wake);
        }),
      take: handler("take", (shard) => node.open.add(shard)),
      ahead: async (shard) => {
        await handler("ahead", () => undefined)(shard);
        return !node.notCopied.has(shard);
      },
      give: handler("give", (shard) => node.open.delete(shard)),
      lost: handler("lost", (shard) => node.open.delete(shard)),
      freed: (shard) => void node.freed.push(shard),
      replaced: () => void node.calls.push("replaced"),
    });
    const started: TestNode = Object.assign(node, { leases });
    nodes.set(owner, started);
    return started;
  }

  return {
    db,
    begin,
    settle,
    start: async (number, owner = `process of ${number}`) => {
      const node = await begin(number, owner);
      await settle();
      return node;
    },
    pass: async (ms) => {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.pass(stepMs);
        await wakeDue();
      }
    },
    rows: async () => {
      const found = await db.all<{ shard: number; node: number | null }>(
        "select shard, node from shard_owner",
      );
      const byShard = new Map(found.map(({ shard, node }) => [shard, node]));
      return Array.from({ length: shards }, (_, shard) => byShard.get(shard) ?? null);
    },
    close: async () => {
      // Those that sleep for ever sleep on: nothing holds the process.
      for (const one of dbs.toReversed()) await one.close();
    },
  };
}

/**
 * The external broker in a cluster: one node at a time follows it, and hands each message to the node that keeps its
 * device. Commands go from each node over a connection of its own.
 */
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Broker } from "../../ingest/transports/broker/broker.js";
import type { BrokerSettings } from "../../ingest/transports/broker/settings.js";
import { hashClientID } from "../../ingest/uplinks/accept.js";
import { sleep } from "../../store/lib/abortable.js";
import type { Db } from "../../store/metadata/db/db.js";
import { createLocalShard, type LocalShard } from "../brokers/local-shard.js";
import type { FollowerCall } from "../brokers/shard-calls.js";
import { createShardQueue } from "../brokers/shard-queue.js";
import { createFollowerCalls, type FollowerCalls } from "../brokers/take-for-follower.js";
import { brokerSeat, hasSeat, startSeat } from "../cluster/leader-lease.js";
import type { NeighbourNodes } from "../cluster/neighbours.js";
import { newOwner } from "../host/process-owner.js";
import { type BrokerParts, connectBroker } from "./broker.js";
import type { ShardPipeline } from "./shard-pipeline.js";

export interface ClusterBroker extends Broker {
  /** Answers the node that follows the broker. */
  readonly calls: FollowerCalls;
  /** Leaves the following to another node. */
  leave(): Promise<void>;
}

interface ClusterBrokerDeps
  extends Omit<BrokerParts<LocalShard>, "shards" | "wayTo" | "note" | "mayConnect" | "isFull"> {
  readonly pipelines: ByShard<ShardPipeline>;
  readonly db: Db;
  readonly cluster: Pick<NeighbourNodes, "call">;
  /** The node that has a shard; null: none. */
  readonly holderOf: (shard: number) => number | null;
  readonly note: (trouble: string | null, of: string) => void;
  readonly monotonic: () => number;
}

/** All nodes use the same client id, so that the next node that follows the broker continues the session. */
const clientID = "tidemark-cluster";
const callMs = 20_000;
/** Messages that wait for their shards. The broker bounds those of QoS 1 only. */
const waitingMax = 10_000;

export function openClusterBroker(settings: BrokerSettings, deps: ClusterBrokerDeps): ClusterBroker {
  const { pipelines, directory, cluster, holderOf, db, log, now } = deps;
  const session = hashClientID(clientID);
  const owner = newOwner();
  const shards = pipelines.map((pipeline) => localShard(pipeline, session));
  const sender = connectBroker(
    { ...settings, clientID: `${settings.clientID}-commands`, shared: null },
    {
      ...deps,
      shards,
      wayTo: () => {
        throw new RangeError("the connection is for what is sent");
      },
      isFull: () => false,
      note: (trouble) => deps.note(trouble, "commands"),
      mayConnect: async () => true,
    },
  );
  let following: { readonly broker: Broker; readonly ended: AbortController } | null = null;
  let isReading = true;
  /** The term of this node's last lease. */
  let term = 0;

  /** To the node that has the shard now, which may be this one. */
  async function call(shard: number, body: FollowerCall): Promise<unknown> {
    const isHere = shards.all.some(({ number }) => number === shard);
    return isHere ? calls.answer(body) : cluster.call(holderOf(shard), body, callMs);
  }

  function begin(): void {
    const ended = new AbortController();
    const queues = new Map<number, ReturnType<typeof createShardQueue>>();
    const openQueue = (shard: number) =>
      createShardQueue({
        shard,
        seat: { owner, term },
        session,
        call: (body) => call(shard, body),
        signal: ended.signal,
        sleep,
        onRefused: (device) => void followDevice(device, shard),
        onKept: () => broker.afterCommit(),
        onTrouble: createTroubleLog(shard),
      });
    const areTooMany = (): boolean =>
      [...queues.values()].reduce((sum, { waiting }) => sum + waiting, 0) >= waitingMax;
    const broker = connectBroker(
      { ...settings, clientID },
      {
        ...deps,
        shards,
        wayTo: (found) => {
          const shard = shardNumber(found);
          const known = queues.get(shard) ?? openQueue(shard);
          queues.set(shard, known);
          return known;
        },
        isFull: areTooMany,
        note: (trouble) => deps.note(trouble, "messages"),
        // Another node that has connected has the seat.
        mayConnect: async (after) => after !== "taken_over" || seat.check(),
      },
    );
    if (!isReading) broker.stopReading();
    following = { broker, ended };
  }

  function end(): void {
    following?.ended.abort();
    following?.broker.close();
    following = null;
    deps.note(null, "messages");
  }

  /** Follows the broker anew: messages that are not kept are sent again, and looked up where they may be. */
  function beginAnew(): void {
    if (following === null) return;
    end();
    begin();
  }

  /** A device that has another gateway by now may have another shard: what waits goes there. */
  async function followDevice(device: number, shard: number): Promise<void> {
    const entry = await directory.get(device).catch(() => undefined);
    const found = entry && (await shards.of(entry).catch(() => undefined));
    if (found === undefined || shardNumber(found) === shard) return;
    beginAnew();
  }

  /** A line when a shard cannot be reached any more. */
  function createTroubleLog(shard: number): (error: unknown) => void {
    let loggedAt = Number.NEGATIVE_INFINITY;
    return (error) => {
      if (deps.monotonic() - loggedAt > loggedEveryMs)
        log.warn("broker: messages wait for the node that has their shard", { shard, error });
      loggedAt = deps.monotonic();
    };
  }

  const seat = startSeat({
    db,
    number: brokerSeat,
    owner,
    monotonic: deps.monotonic,
    sleep,
    isAble: () => sender.outbound.isUp || following?.broker.outbound.isUp === true,
    onTaken: (own) => {
      term = own;
      log.info("broker: this node follows it");
      begin();
    },
    onLost: () => {
      log.info("broker: this node follows it no more");
      end();
    },
  });
  const calls = createFollowerCalls({
    shards,
    directory,
    isSeated: (one) => hasSeat(db, { number: brokerSeat, owner: one }),
    // A node with a later term follows the broker now; this node's own beat would show that only later.
    onFollower: (other) => {
      if (other > term) end();
    },
    now,
  });

  return {
    outbound: sender.outbound,
    calls,
    // Messages are acknowledged as calls are answered.
    afterCommit: () => undefined,
    stopReading: () => {
      isReading = false;
      following?.broker.stopReading();
    },
    leave: seat.close,
    close: () => {
      end();
      sender.close();
    },
  };
}

const loggedEveryMs = 60_000;

const shardNumber = (found: LocalShard | Elsewhere): number =>
  found instanceof Elsewhere ? found.shard : found.number;

function localShard({ shard, accept }: ShardPipeline, session: number): LocalShard {
  const { number, registry, work, events, journal } = shard;
  const closed = new AbortController();
  shard.onClosed(() => closed.abort());
  const { history } = events;
  return createLocalShard({
    number,
    accept,
    registry,
    work,
    journal,
    history,
    session,
    closed: closed.signal,
  });
}

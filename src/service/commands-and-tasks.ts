import { join } from "node:path";
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import { connectionsOfShards } from "../../ingest/sessions/connections.js";
import { createDownlinks, downlinksOfShards } from "../../ingest/sessions/downlinks.js";
import type { Broker } from "../../ingest/transports/broker/broker.js";
import type { Zone } from "../../query/zone.js";
import type { DeadLetter } from "../../store/journal/dead-letters.js";
import type { Backups } from "../backup/backups.js";
import type { NeighbourNodes } from "../cluster/neighbours.js";
import { type Commands, createCommands } from "../commands/commands.js";
import { startExpiry } from "../commands/issued.js";
import { createNodeCalls, type NodeCalls, type ShardNews } from "../commands/node-calls.js";
import type { Receipts } from "../commands/receipts.js";
import { startScheduler } from "../commands/scheduler.js";
import { createExternalBroker, throughBroker } from "../commands/through-broker.js";
import { throughCluster } from "../commands/through-cluster.js";
import type { DiskSpace } from "../http/disk-space.js";
import { answerList } from "../journal-lists/cluster-list.js";
import type { LocalLogs } from "../journal-lists/local-logs.js";
import { figuresHere } from "../live/figures.js";
import type { Logger } from "../observability/log.js";
import type { Status } from "../observability/status.js";
import { openTasksRunner, type Tasks } from "../tasks/runner.js";
import { prepareBackups } from "./backups.js";
import type { ClusterBroker } from "./cluster-broker.js";
import type { Faults } from "./faults.js";
import type { MetadataLayer } from "./metadata-layer.js";
import type { Shard } from "./shard.js";
import { type TaskKindsDeps, taskKinds } from "./task-kinds.js";

/** Commands to devices, and work in the background: tasks and schedules. */
export interface CommandsAndTasks {
  readonly commands: Commands;
  /** Answers the other nodes, for the devices that are kept here. */
  readonly nodeCalls: NodeCalls;
  readonly tasks: Tasks;
  /** Null if no folder for them is set. */
  readonly backups: Backups | null;
  /** Stops the senders; tasks continue after the restart. */
  stop(): Promise<void>;
  /** Stores the remaining receipts. */
  close(): Promise<void>;
}

interface CommandsAndTasksDeps extends Pick<TaskKindsDeps, "config" | "history"> {
  readonly metadata: MetadataLayer;
  readonly shards: ByShard<Shard>;
  /** Null: the process is alone. */
  readonly cluster: NeighbourNodes | null;
  readonly shardNews: ShardNews;
  /** The event logs that are kept here. */
  readonly kept: LocalLogs;
  readonly faults: Faults;
  readonly receipts: Receipts;
  /** Why a shard takes nothing, or null. */
  readonly stopped: () => string | null;
  readonly broker: Broker | ClusterBroker | null;
  readonly zone: Zone;
  readonly status: Status;
  /** The dead letters of this node. */
  readonly asides: () => readonly DeadLetter[];
  /** Whether a live stream could go on here. */
  readonly resumes: TenantFeed["resumes"];
  /** Keeps the data folder's files in place while a backup copies them. */
  readonly hold: (seconds: number) => Promise<readonly number[]>;
  /** The space of the tasks' folder. */
  readonly space: DiskSpace;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** By which old tasks are removed. */
  readonly retentionTime: () => number;
}

/** Resumes the tasks of an earlier run and starts the schedules. */
export async function openCommandsAndTasks(deps: CommandsAndTasksDeps): Promise<CommandsAndTasks> {
  const { config, history, metadata, shards, cluster, receipts, stopped, broker, zone, log, now } = deps;
  const onFault = deps.faults("at a command to another node");
  const { db, directory } = metadata;
  const node = config.nodeNumber;
  const tasksDir = join(config.dataDir, "tasks");
  const here = downlinksOfShards(
    shards.map(({ registry, records, onClosed }) =>
      createDownlinks({ registry, records, directory, now, onClosed }),
    ),
    directory,
  );
  const commandsHere = createCommands({
    db,
    shardOf: (device) => {
      const entry = directory.peek(device);
      const found = entry === undefined ? null : shards.peek(entry);
      return found instanceof Elsewhere ? found.shard : (found?.number ?? node);
    },
    sessions: connectionsOfShards(shards.map(({ connections }) => connections)),
    directory,
    receipts,
    now,
    downlinks: broker === null ? here : throughBroker(here, broker.outbound, directory),
    ...(broker === null ? {} : { externalBroker: createExternalBroker(broker.outbound, directory) }),
    stopped,
  });
  const commands =
    cluster === null
      ? commandsHere
      : throughCluster(commandsHere, { placeOf: cluster.placeOf, call: cluster.call, directory, onFault });
  const expiry = startExpiry({ db, now, log });
  const makeBackups = await prepareBackups(deps);
  const tasks = await openTasksRunner({
    db,
    now,
    retentionTime: deps.retentionTime,
    log,
    node,
    dir: tasksDir,
    space: deps.space,
    kinds: {
      ...taskKinds({ config, db, devices: metadata.devices, commands, history, now }),
      ...makeBackups?.kinds,
    },
  });
  const backups = makeBackups?.open(tasks) ?? null;
  const scheduler = startScheduler({ db, node, zone, commands, tasks, log, now });
  metadata.follow(({ entity }) => {
    if (entity === "schedule") void scheduler.look();
  });
  return {
    commands,
    nodeCalls: createNodeCalls({
      commands: commandsHere,
      directory,
      list: (query, nodeCall) => answerList(deps.kept, query, nodeCall),
      asides: deps.asides,
      figures: (tenant) =>
        figuresHere({ meter: metadata.meter, status: deps.status, shards: shards.places }, tenant),
      resumes: deps.resumes,
      follower: broker !== null && "calls" in broker ? broker.calls : null,
      followed: metadata.followed,
      shardNews: deps.shardNews,
      onFault: deps.faults("at a call of another node"),
    }),
    tasks,
    backups,
    stop: async () => {
      backups?.close();
      await scheduler.close();
      await tasks.close();
    },
    close: async () => {
      await expiry.close();
      await receipts.close();
    },
  };
}

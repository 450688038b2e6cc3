import type { DecodeRules } from "../../ingest/decode/points.js";
import type { Directory } from "../../ingest/directory/directory.js";
import type { LiveFeed } from "../../ingest/live/feed.js";
import type { TenantFeed } from "../../ingest/live/tenant-feed.js";
import type { Meter } from "../../ingest/meter.js";
import type { ClientSessions } from "../../ingest/sessions/client-sessions.js";
import type { BrokerAccess } from "../../ingest/transports/broker/broker-access.js";
import type { SeriesRefs } from "../../query/series-refs.js";
import type { Zone } from "../../query/zone.js";
import type { EventLogReading } from "../../store/events/events.js";
import type { DeadLetter, Follower } from "../../store/journal/dead-letters.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import type { DeviceIngest } from "../../store/metadata/devices/ingest.js";
import type { SeriesStore } from "../../store/series/series.js";
import type { Backups } from "../backup/backups.js";
import type { Authority } from "../certificates/authority.js";
import type { NeighbourNodes } from "../cluster/neighbours.js";
import type { Commands } from "../commands/commands.js";
import type { Config } from "../config/config.js";
import type { ProductCatalog } from "../devices/catalog.js";
import type { BuildInfo } from "../host/build-info.js";
import type { Authenticator } from "../http/auth.js";
import type { RequestBudget } from "../http/request-budget.js";
import type { ResponseBudget } from "../http/response-budget.js";
import type { SessionCookies } from "../http/session-cookie.js";
import type { ShareAccess } from "../http/share-access.js";
import type { LocalLogs } from "../journal-lists/local-logs.js";
import type { ReadFigures } from "../live/figures.js";
import type { LiveWatch } from "../live/watch.js";
import type { TileSource } from "../map-tiles/tile-source.js";
import type { Notifier } from "../notifications/notifier.js";
import type { Logger } from "../observability/log.js";
import type { Status } from "../observability/status.js";
import type { Tasks } from "../tasks/runner.js";
import type { Brokers } from "../views/broker-info.js";

/** The outcome of a replay, by follower. */
export interface Replayed {
  readonly replayed: readonly Follower[];
  /** Followers for which the record stays a dead letter. */
  readonly refused: readonly { readonly follower: Follower; readonly reason: string }[];
}

/** The dead letters: messages that ended the service. */
export interface DeadLetterStore {
  /** Those of this process. */
  all(): readonly DeadLetter[];
  /** Those of all shards, wherever they are; null: each process of a cluster has its own. */
  everywhere(): Promise<readonly DeadLetter[] | null>;
  /** Tries the record again and, on success, applies it. @throws StoreError NOT_FOUND */
  replay(id: number): Promise<Replayed>;
  /** Drops the record; it stays in the event log. @throws StoreError NOT_FOUND */
  drop(id: number): Promise<void>;
}

/** Everything that routes work with. There are no fakes: tests open real stores. */
export interface AppDeps {
  /** The other nodes of the cluster; null: the process is alone. */
  readonly cluster: NeighbourNodes | null;
  readonly db: Db;
  readonly devices: DeviceStore;
  readonly events: EventLogReading;
  /** The same, by shards: what this node has of a list of all. */
  readonly kept: LocalLogs;
  readonly series: SeriesStore;
  readonly refs: SeriesRefs;
  /** Points at the moment that they are stored. */
  readonly live: LiveFeed;
  /** Devices and products as decoding sees them. */
  readonly directory: Pick<Directory, "get">;
  readonly decodeRules: () => Omit<DecodeRules, "asOfReceipt">;
  /** What happens to a tenant's devices, for its streams. */
  readonly tenantLive: Pick<TenantFeed, "run" | "newest" | "subscribe">;
  /** Looks for alerts and commands of tenants with streams. */
  readonly liveWatch: Pick<LiveWatch, "begin">;
  readonly catalog: ProductCatalog;
  readonly authenticator: Authenticator;
  /** The sessions of browsers. */
  readonly cookies: SessionCookies;
  /** Lets in who shows the token of a shared dashboard. */
  readonly shares: ShareAccess;
  /** Bytes that all responses in progress may hold together. */
  readonly answers: ResponseBudget;
  /** Bytes that all requests in progress may hold together. */
  readonly requests: RequestBudget;
  /** Signs the certificates of devices. */
  readonly authority: Authority;
  readonly log: Logger;
  /** The deployment's settings. */
  readonly config: Config;
  readonly status: Status;
  readonly meter: Pick<Meter, "rates" | "connections">;
  /** The overview's figures of all nodes. */
  readonly figures: ReadFigures;
  /** The tiles of maps; null: there are none. */
  readonly mapTiles: TileSource | null;
  /** What this program is. */
  readonly build: BuildInfo;
  readonly tasks: Tasks;
  /** Those that the service makes of itself; null if no folder for them is set. */
  readonly backups: Backups | null;
  readonly commands: Commands;
  /** Notifies people of alerts. */
  readonly notifier: Pick<Notifier, "test" | "preview">;
  /** What devices' clients have left with this process. */
  readonly sessions: ClientSessions;
  /** Decides permissions at the external broker. */
  readonly brokerAccess: BrokerAccess;
  readonly aside: DeadLetterStore;
  /** The addresses that devices connect to. */
  readonly brokers: Brokers;
  readonly zone: Zone;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Keeps files and rows in place for a backup, for so many seconds. Returns the journal id of each shard up to
   * which everything is on disk.
   */
  readonly holdForBackup: (seconds: number) => Promise<readonly number[]>;
  /** Writes again the points of messages kept from that time on, milliseconds since 1970. */
  readonly replaySince: (sinceMs: number) => Promise<{ messages: number; points: number }>;
  /**
   * The messages and values of a device that this process has accepted and refused; nothing before its first message.
   */
  readonly ingestOf: (deviceIntID: number) => Promise<readonly DeviceIngest[]>;
  /** Writes at once this process's counts of the alerts of these devices. */
  readonly settleAlerts: (devices: readonly number[]) => Promise<void>;
}

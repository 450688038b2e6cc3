import { createDirectory, type Directory } from "../../ingest/directory/directory.js";
import { createMeter, type Meter } from "../../ingest/meter.js";
import type { DamageLog } from "../../store/files/damage.js";
import type { Clock } from "../../store/lib/clock.js";
import { StoreError } from "../../store/lib/errors.js";
import { createListenerSet } from "../../store/lib/listeners.js";
import { type Change, openChangeFeed } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import { openVault } from "../../store/metadata/users/sealing.js";
import { listTenants } from "../../store/metadata/users/tenants.js";
import { type Authority, openAuthority } from "../certificates/authority.js";
import type { Config } from "../config/config.js";
import { createCatalog, type ProductCatalog } from "../devices/catalog.js";
import { keepClusterNumbers } from "../host/cluster-numbers.js";
import { ensureConfiguredKey, firstStart } from "../host/first-start.js";
import { lockDataDir } from "../host/lock.js";
import { firstMasterKey, masterKey, strangeAuthority, wrongMasterKey } from "../host/master-key.js";
import { metadataAddress, openMetadata, refuseEmptied } from "../host/metadata.js";
import { releaseReserve } from "../host/reserve.js";
import { refuseUnfinishedRestore } from "../host/restoring.js";
import { beginMovesAnew } from "../host/unfinished-move.js";
import { type Authenticator, createAuthenticator } from "../http/auth.js";
import type { Logger } from "../observability/log.js";

/** The metadata, with their caches in memory. */
export interface MetadataLayer {
  readonly db: Db;
  readonly devices: DeviceStore;
  readonly authority: Authority;
  readonly meter: Meter;
  readonly directory: Directory;
  readonly authenticator: Authenticator;
  readonly catalog: ProductCatalog;
  /**
   * Calls `follow` at each change of the metadata, whichever process made it, until the returned function is called.
   */
  follow(follow: (change: Change) => void): () => void;
  /** Resolves once every follower knows of everything stored. */
  followed(): Promise<void>;
  /** Stops following changes. */
  stopFollowing(): void;
  /** Resolves once nothing of the folder is open any more. */
  close(): Promise<void>;
}

const directoryDevicesMax = 50_000;
/** How often changes that other processes have made are looked for. */
export const changePollMs = 500;

/** Locks the data folder, opens the metadata in it and makes everything that a first start needs. */
export async function openMetadataLayer(
  config: Config,
  log: Logger,
  clock: Clock,
  damage: Pick<DamageLog, "report">,
  fatal: (error: Error) => void,
): Promise<MetadataLayer> {
  const { now } = clock;
  refuseUnfinishedRestore(config.dataDir);
  const lock = await lockDataDir(config.dataDir, { onLost: fatal });
  await keepClusterNumbers(config);
  await releaseReserve(config.dataDir, log);
  await beginMovesAnew(config.dataDir, log);
  const db = await openMetadata(config);
  const isNew = (await listTenants(db)).length === 0;
  if (isNew) await refuseEmptied(config);
  const vault = await openVault(db, await (isNew ? firstMasterKey : masterKey)(config), (place) =>
    damage.report({
      part: "metadata",
      file: metadataAddress(config).url,
      what: `the sealed value ${place} does not open: it is another record's, or damaged`,
      lostBytes: 0,
    }),
  ).catch((error: unknown) => {
    throw error instanceof StoreError && error.code === "CORRUPT" ? wrongMasterKey(config) : error;
  });
  const first = await firstStart(db, config, now());
  if (first !== null) log.info("first start: what was made is shown once", { ...first });
  const chosen = await ensureConfiguredKey(db, config, now());
  const authority = await openAuthority({ db, vault }, config, now()).catch((error: unknown) => {
    throw error instanceof StoreError && error.code === "CORRUPT" ? strangeAuthority(config) : error;
  });

  const devices = { db, vault };
  const directory = createDirectory(devices, directoryDevicesMax);
  const authenticator = createAuthenticator(db, clock, chosen);
  const catalog = createCatalog(db);
  const followers = createListenerSet<[change: Change]>();
  const feed = await openChangeFeed(
    db,
    (change) => {
      if (change.entity === "user") authenticator.forget({ user: change.recordID });
      if (change.entity === "api_key") authenticator.forget({ apiKey: change.recordID });
      catalog.forget(change);
      followers.tell(change);
      return directory.apply(change);
    },
    changePollMs,
  );
  return {
    db,
    devices,
    authority,
    directory,
    authenticator,
    catalog,
    meter: createMeter(clock.monotonic),
    follow: followers.add,
    followed: feed.poll,
    stopFollowing: feed.close,
    close: async () => {
      try {
        await db.close();
      } finally {
        await lock.release();
      }
    },
  };
}

import { createDirectory, type Directory } from "../../ingest/directory.js";
import { createMeter, type Meter } from "../../ingest/meter.js";
import { type Change, openChangeFeed } from "../../store/changes.js";
import type { Clock } from "../../store/clock.js";
import type { Db } from "../../store/db.js";
import { clearPresence } from "../../store/device-presence.js";
import type { DeviceStore } from "../../store/devices.js";
import { StoreError } from "../../store/errors.js";
import { opensTokens } from "../../store/sealed-tokens.js";
import { createVault } from "../../store/secrets.js";
import { listTenants } from "../../store/tenants.js";
import { type Authority, openAuthority } from "../authority.js";
import { type Catalog, createCatalog } from "../catalog.js";
import type { Config } from "../config.js";
import { ensureConfiguredKey, firstStart } from "../first-start.js";
import { type Authenticator, createAuthenticator } from "../http/auth.js";
import { lockDataDir } from "../lock.js";
import type { Logger } from "../log.js";
import { firstMasterKey, masterKey, wrongMasterKey } from "../master-key.js";
import { openMetadata, refuseEmptied } from "../metadata.js";
import { releaseReserve } from "../reserve.js";

/** The metadata with what is kept in memory of it. */
export interface Base {
  readonly db: Db;
  readonly devices: DeviceStore;
  readonly authority: Authority;
  readonly meter: Meter;
  readonly directory: Directory;
  readonly authenticator: Authenticator;
  readonly catalog: Catalog;
  /** Calls `follow` at each change of the metadata, whichever process made it. */
  follow(follow: (change: Change) => void): void;
  /** Resolves once every follower knows of all that is stored. */
  followed(): Promise<void>;
  /** No more changes are followed. */
  stopFollowing(): void;
  close(): void;
}

const directoryDevicesMax = 50_000;
const changePollMs = 500;

/** Takes the data folder, opens the metadata in it and makes what a first start needs. */
export async function openBase(
  config: Config,
  log: Logger,
  clock: Clock,
  fatal: (error: Error) => void,
): Promise<Base> {
  const { now } = clock;
  const lock = await lockDataDir(config.dataDir, { onLost: fatal });
  await releaseReserve(config.dataDir, log);
  const db = await openMetadata(config);
  const isNew = (await listTenants(db)).length === 0;
  if (isNew) await refuseEmptied(config);
  const vault = createVault(await (isNew ? firstMasterKey : masterKey)(config));
  const first = await firstStart(db, config, now());
  if (first !== null) log.info("first start: what was made is shown once", { ...first });
  const chosen = await ensureConfiguredKey(db, config, now());
  const authority = await openAuthority({ db, vault }, config, now()).catch((error: unknown) => {
    throw error instanceof StoreError && error.code === "CORRUPT" ? wrongMasterKey(config) : error;
  });
  if (!(await opensTokens({ db, vault }))) throw wrongMasterKey(config);
  await clearPresence(db, config.nodeNumber);

  const devices = { db, vault };
  const directory = createDirectory(devices, directoryDevicesMax);
  const authenticator = createAuthenticator(db, clock, chosen);
  const catalog = createCatalog(db);
  const followers: ((change: Change) => void)[] = [];
  const feed = await openChangeFeed(
    db,
    (change) => {
      if (change.entity === "user") authenticator.forget({ user: change.recordID });
      if (change.entity === "api_key") authenticator.forget({ apiKey: change.recordID });
      catalog.forget(change);
      for (const follow of followers) follow(change);
      return directory.apply(change);
    },
    changePollMs,
  );
  return {
    ...{ db, devices, authority, directory, authenticator, catalog, meter: createMeter() },
    follow: (follow) => {
      followers.push(follow);
    },
    followed: feed.poll,
    stopFollowing: feed.close,
    close: () => {
      db.close();
      lock.release();
    },
  };
}

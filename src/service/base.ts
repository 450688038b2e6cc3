import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createDirectory, type Directory } from "../../ingest/directory.js";
import { createMeter, type Meter } from "../../ingest/meter.js";
import { type Change, openChangeFeed } from "../../store/changes.js";
import type { Db } from "../../store/db.js";
import { clearPresence } from "../../store/device-presence.js";
import type { DeviceStore } from "../../store/devices.js";
import { createVault } from "../../store/secrets.js";
import { type Authority, openAuthority } from "../authority.js";
import { type Catalog, createCatalog } from "../catalog.js";
import type { Config } from "../config.js";
import { ensureConfiguredKey, firstStart, masterKey } from "../first-start.js";
import { type Authenticator, createAuthenticator } from "../http/auth.js";
import { lockDataDir } from "../lock.js";
import type { Logger } from "../log.js";
import { openMetadata } from "../metadata.js";

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
  /** No more changes are followed. */
  stopFollowing(): void;
  close(): void;
}

const directoryDevicesMax = 50_000;
const changePollMs = 500;
const callers: ReadonlySet<string> = new Set(["user", "api_key"]);

/** Takes the data folder, opens the metadata in it and makes what a first start needs. */
export async function openBase(config: Config, log: Logger, now: () => number): Promise<Base> {
  await mkdir(config.dataDir, { recursive: true });
  const lock = await lockDataDir(join(config.dataDir, "lock.db"));
  const db = await openMetadata(config);
  const vault = createVault(await masterKey(config));
  const first = await firstStart(db, config, now());
  if (first !== null) log.info("first start: what was made is shown once", { ...first });
  await ensureConfiguredKey(db, config, now());
  const authority = await openAuthority({ db, vault }, config, now());
  await clearPresence(db, config.nodeNumber);

  const devices = { db, vault };
  const directory = createDirectory(devices, directoryDevicesMax);
  const authenticator = createAuthenticator(db, now);
  const catalog = createCatalog(db);
  const followers: ((change: Change) => void)[] = [];
  const feed = await openChangeFeed(
    db,
    (change) => {
      if (callers.has(change.entity)) authenticator.forget();
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
    stopFollowing: feed.close,
    close: () => {
      db.close();
      lock.release();
    },
  };
}

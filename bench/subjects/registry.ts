import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { readConfig } from "../../src/config/config.js";
import { masterKey } from "../../src/host/master-key.js";
import { openMetadata } from "../../src/host/metadata.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { createVault } from "../../store/metadata/db/secrets.js";
import { createDeviceStatements, type DeviceStore } from "../../store/metadata/devices/devices.js";
import { createProduct } from "../../store/metadata/products/products.js";
import { findUser } from "../../store/metadata/users/users.js";

export interface Registry {
  readonly products: readonly { readonly id: number; readonly productID: string }[];
  /** Record ids of the first and the last device; none is missing between. */
  readonly firstID: number;
  readonly lastID: number;
}

const productsCount = 10;
const devicesPerTransaction = 5_000;

/**
 * Puts `count` devices into the metadata of a stopped service, then copies all of it to `copy`, so that bare
 * statements find the same rows in a file of their own.
 */
export async function fillRegistry(dataDir: string, count: number, copy: string): Promise<Registry> {
  const config = readConfig({ DATA_DIR: dataDir });
  const db = await openMetadata(config);
  try {
    const registry = await fill({ db, vault: createVault(await masterKey(config)) }, count);
    await copyTo(db, copy);
    return registry;
  } finally {
    await db.close();
  }
}

/** Writes what the devices of `fillRegistry` connect with where a generator can read it; returns the file. */
export async function writeRegistryCredentials(dir: string, count: number): Promise<string> {
  const credentials = Array.from({ length: count }, (_, n) => {
    const { deviceUsername: username, token: password } = newDevice(n, 0);
    return { username, password };
  });
  const file = join(await mkdtemp(join(dir, "tidemark-bench-")), "credentials.json");
  await writeFile(file, JSON.stringify(credentials), { mode: 0o600 });
  return file;
}

async function fill(store: DeviceStore, count: number): Promise<Registry> {
  const user = await findUser(store.db, "admin");
  if (user === undefined) throw new Error("cannot fill the registry: there is no admin");
  const actor: Actor = { tenant: user.tenant, userIntID: user.id, username: user.username };
  const products: { id: number; productID: string }[] = [];
  for (let i = 0; i < productsCount; i++) {
    const input = { productName: `Works ${i}`, description: null, cloudProtocol: 1 };
    products.push(await createProduct(store.db, actor, Date.now(), input));
  }
  for (let at = 0; at < count; at += devicesPerTransaction) {
    const some = Array.from({ length: Math.min(devicesPerTransaction, count - at) }, (_, i) => at + i);
    await store.db.write(
      some.flatMap((n) => {
        const product = products[n % productsCount];
        return createDeviceStatements(store, actor, Date.now(), newDevice(n, product?.id ?? 0));
      }),
    );
  }
  const ids = await store.db.first<{ firstID: number; lastID: number }>(
    "select min(id) firstID, max(id) lastID from device",
  );
  if (ids === undefined) throw new Error("cannot fill the registry: it stays empty");
  return { products, ...ids };
}

/** As the stations of a real fleet are: a dozen fields of text, a place, a note. */
function newDevice(n: number, productIntID: number) {
  const number = String(n).padStart(6, "0");
  return {
    productIntID,
    deviceID: `station-${number}`,
    deviceName: `Station ${number}`,
    deviceUsername: `user-${number}`,
    token: `token-${number}`,
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
    carrier: 1,
    physicalNetwork: 1,
    manufacturer: "Lake Instruments",
    serialNumber: `SN${number}`,
    softVersion: "2.4.1",
    hardwareVersion: "C",
    description: "Water level and temperature at the outlet, read every minute",
    deviceConsolePort: 22,
    latitude: 47 + n / 100_000,
    longitude: 8 + n / 100_000,
    location: { address: "Quay 3" },
  };
}

async function copyTo(db: Db, path: string): Promise<void> {
  // Not `write`: VACUUM runs outside of any transaction.
  await db.all("vacuum into ?", [path]);
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  await client.execute("pragma journal_mode = wal");
  client.close();
}

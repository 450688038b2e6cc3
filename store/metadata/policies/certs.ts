import {
  type Actor,
  deleteStatements,
  differing,
  insertStatements,
  updateStatements,
} from "../db/changes.js";
import type { Db } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { deleting } from "../db/referrers.js";
import { formatPlace } from "../db/secrets.js";
import {
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  textColumn,
  time,
} from "../db/table.js";
import type { SealedStore } from "../users/authority.js";

/** A certificate as lists show it. */
export interface CertListed {
  readonly id: number;
  readonly name: string;
  readonly enable: number;
  readonly createAt: number;
}

export interface Cert extends CertListed {
  readonly CN: string;
  /** PEM, like key and root. */
  readonly cert: string;
  readonly key: string;
  readonly root: string;
  readonly userIntID: number | null;
  readonly createUser: string | null;
  readonly updateAt: number | null;
}

const listing: Listing = {
  select: "r.id, r.name, r.enable, r.createAt",
  from: "cert r",
  filters: {
    name: textColumn("name"),
    enable: integerColumn("enable"),
    CN: textColumn("CN"),
    createAt: time("createAt"),
  },
};
const whole: Listing = { ...listing, select: "r.*" };

export const certFilters = listing.filters;
export const certIDs = { name: "cert", column: null } as const;

export function listCerts(db: Db, tenant: number, request: PageRequest): Promise<Page<CertListed>> {
  return listRows<CertListed>(db, listing, tenant, request);
}

/** The certificates bound to a device. */
export function listCertsOfDevice(
  db: Db,
  tenant: number,
  request: PageRequest,
  device: number,
): Promise<Page<CertListed>> {
  return listRows<CertListed>(db, listing, tenant, request, {
    sql: "r.id in (select certIntID from cert_device where deviceIntID = ?)",
    args: [device],
  });
}

/** @throws StoreError NOT_FOUND */
export async function getCert({ db, vault }: SealedStore, tenant: number, id: number): Promise<Cert> {
  const row = await getRow<Omit<Cert, "key"> & { key: ArrayBuffer }>(db, whole, tenant, id);
  return { ...row, key: vault.open(new Uint8Array(row.key), formatPlace("cert.key", tenant, row.CN)) };
}

/** The enabled certificates bound to a device, as a listener identifies them. */
export function listEnabledCerts(
  db: Db,
  device: number,
): Promise<{ readonly id: number; readonly fingerprint: string }[]> {
  return db.all(
    `select c.id, c.fingerprint from cert_device b join cert c on c.id = b.certIntID
     where b.deviceIntID = ? and c.enable = 1`,
    [device],
  );
}

/** Record ids of devices that the certificate of this fingerprint is bound to, at most `limit`. */
export async function devicesOfCert(db: Db, fingerprint: string, limit: number): Promise<number[]> {
  const bound = await db.all<{ deviceIntID: number }>(
    `select b.deviceIntID from cert c join cert_device b on b.certIntID = c.id where c.fingerprint = ? limit ?`,
    [fingerprint, limit],
  );
  return bound.map(({ deviceIntID }) => deviceIntID);
}

/** Whether it is a certificate of ours, of any tenant, that is disabled. */
export async function isCertDisabled(db: Db, fingerprint: string): Promise<boolean> {
  const cert = await db.first<{ enable: number }>("select enable from cert where fingerprint = ?", [
    fingerprint,
  ]);
  return cert?.enable === 0;
}

/** Finds a certificate by its common name, over all tenants: names are unique. */
export function findCertByName(
  db: Db,
  commonName: string,
): Promise<{ readonly fingerprint: string; readonly expiresAt: number } | undefined> {
  return db.first("select fingerprint, expiresAt from cert where CN = ?", [commonName]);
}

/** The devices that a certificate is bound to, in any tenant; `cert` is undefined if the certificate is deleted. */
export async function certBindings(
  db: Db,
  id: number,
): Promise<{
  readonly cert: { readonly fingerprint: string; readonly enable: number } | undefined;
  readonly devices: readonly number[];
}> {
  const cert = await db.first<{ fingerprint: string; enable: number }>(
    "select fingerprint, enable from cert where id = ?",
    [id],
  );
  const bound = await db.all<{ deviceIntID: number }>(
    "select deviceIntID from cert_device where certIntID = ?",
    [id],
  );
  return { cert, devices: bound.map(({ deviceIntID }) => deviceIntID) };
}

/** Names of the newest certificates that are not bound to the device, at most `limit`. */
export function certsNotOfDevice(
  db: Db,
  tenant: number,
  device: number,
  limit: number,
): Promise<{ readonly id: number; readonly name: string }[]> {
  return db.all(
    `select id, name from cert where tenant = ?
       and id not in (select certIntID from cert_device where deviceIntID = ?)
     order by id desc limit ?`,
    [tenant, device, limit],
  );
}

interface NewCert extends Pick<Cert, "name" | "enable" | "CN" | "cert" | "key" | "root"> {
  /** SHA-256 of the certificate's DER, in hexadecimal, by which a listener identifies it. */
  readonly fingerprint: string;
  readonly expiresAt: number;
}

/** @throws StoreError CONFLICT when the name is taken */
export async function createCert(
  store: SealedStore,
  actor: Actor,
  now: number,
  input: NewCert,
): Promise<Cert> {
  const { name, enable, CN, fingerprint } = input;
  const columns = { ...input, key: store.vault.seal(input.key, formatPlace("cert.key", actor.tenant, CN)) };
  const audit = { name, enable, CN, fingerprint };
  const results = await store.db.write(insertStatements("cert", actor, now, columns, audit));
  return getCert(store, actor.tenant, Number(results[0]?.lastInsertRowid));
}

/** @throws StoreError CONFLICT when the name is taken */
export async function updateCert(
  store: SealedStore,
  actor: Actor,
  now: number,
  id: number,
  input: Partial<Pick<Cert, "name" | "enable">>,
): Promise<Cert> {
  const edit = differing(await getCert(store, actor.tenant, id), input);
  await store.db.write(updateStatements("cert", actor, now, id, edit));
  return getCert(store, actor.tenant, id);
}

/** @throws StoreError REFERENCED if one is bound to a device */
export async function removeCerts(db: Db, actor: Actor, now: number, ids: readonly number[]): Promise<void> {
  await deleting(db, { cert: ids }, () => db.write(deleteStatements("cert", actor, now, ids)));
}

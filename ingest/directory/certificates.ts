import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import type { Device } from "../../store/metadata/devices/record.js";
import { certBindings, listEnabledCerts } from "../../store/metadata/policies/certs.js";

/** Fingerprints of the enabled certificates bound to a device, by the certificates' record ids. */
export type BoundCertificates = Map<number, string>;

/** Empty for a device that does not authenticate by certificate: its certificates are never checked. */
export async function readCertificates(
  db: Db,
  device: Pick<Device, "id" | "authType"> | undefined,
): Promise<BoundCertificates> {
  if (device?.authType !== 2) return new Map();
  return new Map((await listEnabledCerts(db, device.id)).map(({ id, fingerprint }) => [id, fingerprint]));
}

/** What a change of a certificate, or of what it is bound to, means. */
interface CertificateChange {
  readonly id: number;
  /** Null: the certificate is disabled or gone. */
  readonly fingerprint: string | null;
  readonly boundTo: ReadonlySet<number>;
  /** Devices that may have to look again: those bound now and those that the change names. */
  readonly devices: readonly number[];
}

/** Reads the present state, which may be newer than the change. */
export async function readCertificateChange(db: Db, change: Change): Promise<CertificateChange> {
  const { cert, devices } = await certBindings(db, change.recordID);
  const named = fromJson<{ deviceIntIDs?: number[] }>(change.detail)?.deviceIntIDs ?? [];
  const boundTo = new Set(devices);
  return {
    id: change.recordID,
    fingerprint: cert?.enable === 1 ? cert.fingerprint : null,
    boundTo,
    devices: [...new Set([...devices, ...named])],
  };
}

/** Brings one device's certificates up to the change. */
export function applyCertificateChange(
  certificates: BoundCertificates,
  device: Pick<Device, "id" | "authType">,
  { id, fingerprint, boundTo }: CertificateChange,
): void {
  if (fingerprint !== null && boundTo.has(device.id) && device.authType === 2) {
    certificates.set(id, fingerprint);
  } else {
    certificates.delete(id);
  }
}

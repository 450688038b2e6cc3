import type { ClientCertificate } from "../../ingest/access/credentials.js";
import type { Directory } from "../../ingest/directory/directory.js";
import { type Broker, type BrokerDeps, openBroker } from "../../ingest/transports/broker/broker.js";
import { type EarlierRun, takenByEarlierRun } from "../../ingest/transports/broker/redelivery.js";
import type { BrokerSettings } from "../../ingest/transports/broker/settings.js";
import { type Accept, sessionOf } from "../../ingest/uplinks/accept.js";
import type { DeviceHistory } from "../../ingest/uplinks/redelivery.js";
import type { Db } from "../../store/metadata/db/db.js";
import { findCertByName } from "../../store/metadata/policies/certs.js";
import type { Config } from "../config/config.js";
import { readSetting } from "../config/setting-files.js";

/** The settings with the files that they name. @throws ConfigError for one that cannot be read */
export async function readBrokerSettings({ broker, nodeNumber }: Config): Promise<BrokerSettings | null> {
  if (broker === null) return null;
  const { tls, ...where } = broker;
  return {
    ...where,
    clientID: `tidemark-${nodeNumber}`,
    tls: tls && {
      ca: await readPem("BROKER_CA", tls.caPath),
      cert: await readPem("BROKER_CERT", tls.files?.certPath ?? null),
      key: await readPem("BROKER_KEY", tls.files?.keyPath ?? null),
    },
  };
}

function readPem(setting: string, path: string | null): Promise<string | null> {
  return path === null ? Promise.resolve(null) : readSetting(setting, path);
}

interface BrokerParts
  extends Pick<
    BrokerDeps,
    "registry" | "work" | "meter" | "limits" | "topics" | "now" | "log" | "note" | "onFault"
  > {
  readonly accept: Accept;
  readonly directory: Directory;
  readonly history: DeviceHistory;
}

/** Connects to the external broker. `earlier`: the run before this one. */
export function connectBroker(settings: BrokerSettings, earlier: EarlierRun, parts: BrokerParts): Broker {
  const { directory, history, log } = parts;
  const session = sessionOf(settings.clientID);
  return openBroker({
    ...parts,
    settings,
    session,
    peek: directory.peekByDeviceID,
    find: directory.findByDeviceID,
    takenBefore: (device) => takenByEarlierRun(history, device, session, earlier),
    onTrouble: (error) => log.warn("broker: a device cannot be looked up yet", { error }),
  });
}

/** A certificate that a broker has verified, in the endpoint's form. */
export async function certificateNamed(db: Db, commonName: string): Promise<ClientCertificate | undefined> {
  const found = await findCertByName(db, commonName);
  return found && { fingerprint: found.fingerprint, validFrom: 0, validTo: found.expiresAt };
}

import type { ClientCertificate } from "../../ingest/access/credentials.js";
import type { ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import { type Broker, type BrokerDeps, openBroker } from "../../ingest/transports/broker/broker.js";
import type { BrokerShard } from "../../ingest/transports/broker/broker-shard.js";
import type { BrokerSettings } from "../../ingest/transports/broker/settings.js";
import { hashClientID } from "../../ingest/uplinks/accept.js";
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

export interface BrokerParts<T>
  extends Pick<
    BrokerDeps,
    "meter" | "limits" | "topics" | "now" | "log" | "note" | "onFault" | "isFull" | "mayConnect"
  > {
  readonly directory: Directory;
  readonly shards: ByShard<T>;
  /** Where messages for a shard go, which is here or elsewhere. */
  readonly wayTo: (found: T | Elsewhere) => BrokerShard;
}

/** Connects to the external broker. What comes goes to the shard of its device. */
export function connectBroker<T>(settings: BrokerSettings, parts: BrokerParts<T>): Broker {
  const { directory, shards, wayTo, log } = parts;
  return openBroker({
    ...parts,
    settings,
    session: hashClientID(settings.clientID),
    peek: directory.peekByDeviceID,
    find: directory.findByDeviceID,
    peekShard: (device) => {
      const found = shards.peek(device);
      return found === null ? null : wayTo(found);
    },
    findShard: async (device) => wayTo(await shards.of(device)),
    onTrouble: (error) => log.warn("broker: a device cannot be looked up yet", { error }),
  });
}

/** A certificate that a broker has verified, in the endpoint's form. */
export async function certificateNamed(db: Db, commonName: string): Promise<ClientCertificate | undefined> {
  const found = await findCertByName(db, commonName);
  return found && { fingerprint: found.fingerprint, validFrom: 0, validTo: found.expiresAt };
}

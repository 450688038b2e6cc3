import type { ClientCertificate } from "../../ingest/access/credentials.js";
import { type ByShard, Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import { type Broker, type BrokerDeps, openBroker } from "../../ingest/transports/broker/broker.js";
import type { BrokerShard } from "../../ingest/transports/broker/intake.js";
import { type EarlierRun, takenByEarlierRun } from "../../ingest/transports/broker/redelivery.js";
import type { BrokerSettings } from "../../ingest/transports/broker/settings.js";
import { sessionOf } from "../../ingest/uplinks/accept.js";
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
    "work" | "meter" | "limits" | "topics" | "now" | "log" | "note" | "onFault" | "isFull"
  > {
  readonly directory: Directory;
  /** All of them are here, for good. */
  readonly shards: ByShard<BrokerShardParts>;
}

interface BrokerShardParts extends Pick<BrokerShard, "accept" | "registry"> {
  readonly history: DeviceHistory;
  /** The run before this one. */
  readonly earlier: EarlierRun;
}

/** Connects to the external broker. What comes goes to the shard of its device. */
export function connectBroker(settings: BrokerSettings, parts: BrokerParts): Broker {
  const { directory, log } = parts;
  const session = sessionOf(settings.clientID);
  const shards = parts.shards.map(
    ({ history, earlier, ...shard }): BrokerShard => ({
      ...shard,
      takenBefore: (device) => takenByEarlierRun(history, device, session, earlier),
    }),
  );
  const here = <T>(found: T | Elsewhere): T => {
    if (found instanceof Elsewhere) throw new RangeError(`shard ${found.shard} is not here`);
    return found;
  };
  return openBroker({
    ...parts,
    settings,
    session,
    peek: directory.peekByDeviceID,
    find: directory.findByDeviceID,
    peekShard: (device) => here(shards.peek(device)),
    findShard: async (device) => here(await shards.of(device)),
    onTrouble: (error) => log.warn("broker: a device cannot be looked up yet", { error }),
  });
}

/** A certificate that a broker has verified, in the endpoint's form. */
export async function certificateNamed(db: Db, commonName: string): Promise<ClientCertificate | undefined> {
  const found = await findCertByName(db, commonName);
  return found && { fingerprint: found.fingerprint, validFrom: 0, validTo: found.expiresAt };
}

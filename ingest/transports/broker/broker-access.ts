import { StoreError } from "../../../store/lib/errors.js";
import { equalText } from "../../../store/metadata/db/secrets.js";
import { authenticateDevice, type ClientCertificate, hasUsername } from "../../access/credentials.js";
import type { Denials } from "../../access/denials.js";
import { type GuessGuard, guardGuessing } from "../../access/guessing.js";
import type { Directory } from "../../directory/directory.js";
import { isTopicFilter, isTopicName } from "../../messages/topics.js";
import { mayPublish, maySubscribe } from "../../policies.js";
import { ownFilter, sharedFilter, topicBranches } from "./topics.js";

/** A client that wants to connect to the external broker, as the broker describes it. */
interface BrokerClient {
  readonly username: string;
  /** Empty if it gave none. */
  readonly password: string;
  readonly clientID: string;
  /** Its address, which back-off counts by. */
  readonly address: string;
  /** Common name of the certificate that it has authenticated with, if there is one. */
  readonly commonName: string | null;
}

/** What a client wants to do there. */
interface BrokerAction {
  readonly username: string;
  readonly action: "publish" | "subscribe";
  /** A topic, or the filter of a subscription. */
  readonly topic: string;
}

/**
 * Decides who may connect to the external broker, and with which rights: a device by its credentials, in its own branch
 * and within its policies, and Tidemark itself by those of BROKER_USERNAME. `tenant`: that of the devices; null = all.
 */
export interface BrokerAccess {
  /** Both reject with StoreError UNAVAILABLE if the answer is not known now: the broker must not take that for a no. */
  mayConnect(client: BrokerClient, tenant: number | null): Promise<boolean>;
  may(action: BrokerAction, tenant: number | null): Promise<boolean>;
}

interface BrokerAccessDeps {
  readonly directory: Directory;
  /**
   * Wrong credentials, counted by the tenant that asks: its guesses slow down nobody else. Null: the deployment asks.
   */
  readonly guessesOf: (tenant: number | null) => GuessGuard;
  readonly denials: Denials;
  /** Tidemark's own credentials at the broker. */
  readonly own: { readonly username: string; readonly password: string } | null;
  /** The certificate with that common name, whatever its state; names are unique. */
  readonly certificate: (commonName: string) => Promise<ClientCertificate | undefined>;
  /** Whether the certificate of that fingerprint is switched off. */
  readonly isDisabled: (fingerprint: string) => Promise<boolean>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createBrokerAccess(deps: BrokerAccessDeps): BrokerAccess {
  const { directory, guessesOf, denials, own, now } = deps;

  /** An unknown certificate fits no device: it authenticates nobody and does no harm. */
  async function findCertificate(commonName: string | null): Promise<ClientCertificate | null> {
    if (commonName === null) return null;
    return (await deps.certificate(commonName)) ?? null;
  }

  function isOwn({ username, password, address }: BrokerClient): boolean {
    const { backOff, proven } = guessesOf(null);
    const right = own !== null && equalText(password, own.password);
    if (right && proven.has(username, password)) return true;
    if (backOff.attempt(address, username) > 0 || !right) return false;
    backOff.succeeded(address, username);
    proven.add(username, password);
    return true;
  }

  return {
    mayConnect: async (client, tenant) => {
      const { username, password, clientID, address, commonName } = client;
      if (tenant === null && username === own?.username) return isOwn(client);
      const certificate = await findCertificate(commonName);
      const comer = { address, username, token: password };
      const found = await guardGuessing(guessesOf(tenant), comer, certificate !== null, async () => {
        // The broker gives a client its branch of topics by its user name.
        if (!hasUsername(username)) return { denial: "credentials", device: null };
        const entry = await authenticateDevice(
          directory,
          username,
          { token: password, certificate },
          now(),
          deps.isDisabled,
        );
        const device = "denial" in entry ? entry.device : entry;
        // Another tenant's device counts as unknown.
        if (tenant === null || device === null || device.device.tenant === tenant) return entry;
        return { denial: "credentials", device: null };
      });
      if (!("denial" in found)) return true;
      if (found.denial === "unavailable") throw new StoreError("UNAVAILABLE", "cannot look up the device");
      if (found.device !== null) denials.add(found.device, address, clientID, 0);
      return false;
    },
    may: async ({ username, action, topic }, tenant) => {
      if (tenant === null && username === own?.username) return mayOwn(action, topic);
      const entry = await directory.findByUsername(username);
      if (entry === undefined || entry.device.blocked === 1) return false;
      if (tenant !== null && entry.device.tenant !== tenant) return false;
      const { up, down } = topicBranches(entry.device.deviceID);
      const branch = action === "publish" ? up : down;
      if (!topic.startsWith(branch)) return false;
      const named = topic.slice(branch.length);
      if (action === "publish") return isTopicName(named) && mayPublish(entry, named);
      return isTopicFilter(named) && maySubscribe(entry, named);
    },
  };
}

/** Brokers name the filter of a shared subscription with or without its `$share` part. */
function mayOwn(action: BrokerAction["action"], topic: string): boolean {
  if (action === "subscribe") return topic === sharedFilter || topic === ownFilter;
  return isTopicName(topic) && /^devices\/[^/]+\/down\/./.test(topic);
}

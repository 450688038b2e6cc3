/** Parses JOURNAL_URL. Error texts do not repeat the value, because it may contain a password. */
import { isIPv6 } from "node:net";
import type { Address } from "../../store/journal/kafka/broker-link.js";
import type { SaslMechanism, SaslUser } from "../../store/journal/kafka/link-security.js";
import { hasControls } from "../../store/lib/control-characters.js";

interface JournalURL {
  /** Where the cluster is looked for, in the order of the setting. */
  readonly brokers: readonly Address[];
  readonly topic: string;
  readonly security: {
    readonly tls: boolean;
    readonly sasl: SaslUser | null;
  };
}

/** A journal on other machines. */
export interface JournalSettings extends JournalURL {
  /** PEM file of the authorities that may have signed the brokers' certificates; null: the usual ones. */
  readonly caPath: string | null;
  /** Partitions of the topic: parts into which the devices are divided, for good. */
  readonly shards: number;
  /** Whether an acknowledgement may mean "on two machines, not yet on their disks". */
  readonly acceptsUnflushed: boolean;
}

const brokersMax = 32;
const defaultPort = 9092;
const defaultTopic = "tidemark";
/** The longest user name or password. */
const credentialCharactersMax = 1024;

const form = /^kafka(s?):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^/?#]*))?(?:\?([^?#]*))?$/;
const brokerForm = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::(\d{1,5}))?$/;
const topicForm = /^[a-zA-Z0-9._-]{1,249}$/;

const mechanisms: ReadonlyMap<string, SaslMechanism> = new Map([
  ["plain", "PLAIN"],
  ["scram-sha-256", "SCRAM-SHA-256"],
  ["scram-sha-512", "SCRAM-SHA-512"],
]);

/** `kafka[s]://[user:password@]host[:port][,…][/topic][?sasl=mechanism]`, or what is wrong with it in one line. */
export function readJournalURL(text: string): JournalURL | string {
  const [, secure, login, hosts, topic = "", query = ""] = form.exec(text) ?? [];
  if (secure === undefined || hosts === undefined) {
    return "must be kafka:// or kafkas://, then user:password@ or nothing, host:port separated by commas, /topic or nothing; other characters of a password stand as %XX";
  }
  const tls = secure !== "";
  const brokers = readBrokers(hosts);
  if (typeof brokers === "string") return brokers;
  if (topic !== "" && (!topicForm.test(topic) || topic === "." || topic === ".."))
    return "its topic must be 1 to 249 letters, digits, dots, underscores and hyphens, not . or ..";
  const sasl = readUser(login, query, tls);
  if (typeof sasl === "string") return sasl;
  return { brokers, topic: topic || defaultTopic, security: { tls, sasl } };
}

function readBrokers(hosts: string): readonly Address[] | string {
  const parts = hosts.split(",", brokersMax + 1);
  if (parts.length > brokersMax) return `must name 1 to ${brokersMax} brokers`;
  const brokers: Address[] = [];
  for (const part of parts) {
    const [, address, name, digits] = brokerForm.exec(part) ?? [];
    const host = address ?? name;
    const port = Number(digits ?? defaultPort);
    if (host === undefined || (address !== undefined && !isIPv6(address)) || port < 1 || port > 65_535)
      return "its brokers must be host:port separated by commas, an IPv6 address in brackets, a port from 1 to 65535";
    if (brokers.some((one) => one.host === host && one.port === port)) return "names a broker twice";
    brokers.push({ host, port });
  }
  return brokers;
}

/** `login`: what stands before the @, undefined if there is none. */
function readUser(login: string | undefined, query: string, tls: boolean): SaslUser | null | string {
  const [, named] = /^sasl=([a-z0-9-]+)$/.exec(query) ?? [];
  const mechanism = mechanisms.get(named ?? "scram-sha-512");
  if (mechanism === undefined || (query !== "" && named === undefined))
    return "may have ?sasl=plain, ?sasl=scram-sha-256 or ?sasl=scram-sha-512 at its end and nothing else";
  if (login === undefined) return named === undefined ? null : "has ?sasl= but no user";
  const colon = login.indexOf(":");
  if (colon < 1 || colon === login.length - 1) return "must have a user and a password before its @";
  const user = decoded(login.slice(0, colon));
  const password = decoded(login.slice(colon + 1));
  if (user === null || password === null)
    return `its user and password must have up to ${credentialCharactersMax} characters, no control characters, and % only in %XX`;
  if (mechanism === "PLAIN" && !tls)
    return "must be kafkas:// with ?sasl=plain, which shows the password to whoever listens";
  return { mechanism, user, password };
}

function decoded(text: string): string | null {
  try {
    const value = decodeURIComponent(text);
    return hasControls(value) || value.length > credentialCharactersMax ? null : value;
  } catch {
    return null;
  }
}

interface JournalEnvironment {
  readonly JOURNAL_URL?: JournalURL | undefined;
  readonly JOURNAL_CA?: string | undefined;
  readonly JOURNAL_SHARDS: number;
  readonly JOURNAL_UNFLUSHED: "refuse" | "accept";
  readonly INFLUX_URL?: readonly string[] | undefined;
  readonly CLUSTER_NODES?: readonly object[] | undefined;
}

/** Faults of the settings of the journal, one a line. */
export function journalProblems(env: JournalEnvironment): string[] {
  const { JOURNAL_URL: url } = env;
  if (url === undefined) return env.JOURNAL_CA === undefined ? [] : ["JOURNAL_CA: needs JOURNAL_URL"];
  const problems: string[] = [];
  if (env.INFLUX_URL === undefined)
    problems.push("INFLUX_URL: is required with JOURNAL_URL: points on one disk would not outlive it");
  const nodes = env.CLUSTER_NODES?.length ?? 1;
  if (env.JOURNAL_SHARDS < nodes)
    problems.push(`JOURNAL_SHARDS: must be ${nodes} or more, one for each node`);
  if (env.JOURNAL_CA !== undefined && !url.security.tls)
    problems.push("JOURNAL_CA: needs a JOURNAL_URL of kafkas://");
  return problems;
}

/** Null: the journal is on the disk of this machine alone. */
export function readJournalSettings(env: JournalEnvironment): JournalSettings | null {
  const { JOURNAL_URL: url } = env;
  if (url === undefined) return null;
  return {
    ...url,
    caPath: env.JOURNAL_CA ?? null,
    shards: env.JOURNAL_SHARDS,
    acceptsUnflushed: env.JOURNAL_UNFLUSHED === "accept",
  };
}

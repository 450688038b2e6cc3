import { z } from "@hono/zod-openapi";
import type { LimitSettings } from "../../ingest/access/limits.js";
import { isNetwork } from "../../ingest/access/networks.js";
import { type TopicBounds, topicBytesLimit } from "../../ingest/messages/topics.js";
import { withoutControls } from "../../store/lib/control-characters.js";
import { mailDomain } from "../../store/lib/mail-addresses.js";
import { readInteger } from "../../store/lib/number-text.js";
import { isStorableTime } from "../../store/lib/time-range.js";
import type { TimeZones } from "../../store/time-zones/time-zones.js";
import {
  allShards,
  type ClusterSettings,
  clusterProblems,
  readClusterSettings,
  readNodes,
} from "./cluster.js";
import { type InfluxSettings, influxProblems, readInfluxSettings, readInfluxURLs } from "./influx.js";
import { type JournalSettings, journalProblems, readJournalSettings, readJournalURL } from "./journal.js";
import { readSecretFiles } from "./secret-files.js";
import { isTileTemplate } from "./tile-template.js";
import { readTimeZones } from "./time-zones.js";
import { inWords } from "./validation-texts.js";
import { basePathProblem, readOrigins } from "./web-addresses.js";

/** A listener's port: a number (0 takes a free one), or null when it is switched off. */
export type Port = number | null;

/** Paths of a certificate and its key. */
export interface PemFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

export interface Config {
  readonly host: string;
  readonly httpPort: number;
  readonly httpsPort: Port;
  /** HTTP connections at once. */
  readonly httpConnectionsMax: number;
  /** Bytes that all responses in progress may hold together. */
  readonly answerBytesMax: number;
  readonly mqttConnectionsMax: number;
  readonly mqttPort: Port;
  readonly mqttsPort: Port;
  /** The port that requires client certificates. */
  readonly mqttssPort: Port;
  readonly wsPort: Port;
  readonly wssPort: Port;
  readonly dataDir: string;
  readonly apiKey: { readonly appID: string; readonly appSecret: string } | null;
  readonly adminPassword: string | null;
  readonly masterKey: Uint8Array | null;
  readonly timezone: string;
  /** The rules of all time zones. */
  readonly timeZones: TimeZones;
  readonly apiVariant: "A" | "B";
  /** The name by which devices reach the service; null: HOST. */
  readonly publicHost: string | null;
  /** The prefix of all paths behind a proxy, `/tidemark`; empty: none. */
  readonly basePath: string;
  /** Origins whose pages may call the API. */
  readonly corsOrigins: readonly string[];
  /** PEM files of the certificate authority; null: the deployment makes its own. */
  readonly authority: PemFiles | null;
  /** PEM files of the TLS listeners' certificates, one or two of different kinds; null: the authority issues one. */
  readonly tls: readonly PemFiles[] | null;
  /** Addresses and networks of proxies whose word on the client's address is trusted. */
  readonly trustedProxies: readonly string[];
  /** Whether these proxies begin MQTT connections with a PROXY header. */
  readonly proxyProtocol: "optional" | "required" | "off";
  /** Cipher suites of TLS 1.2, at the MQTT listeners. */
  readonly tlsSuites: "aead" | "compatible";
  readonly logLevel: "debug" | "info" | "warn" | "error";
  readonly nodeNumber: number;
  /** Where the journal is kept besides this machine's disk; null: nowhere. */
  readonly journal: JournalSettings | null;
  /** All shards of the deployment's journal, in the order in which devices are shared out. */
  readonly shards: readonly number[];
  /** Those that this process keeps from its start to its end; null: it takes and gives them as the cluster agrees. */
  readonly ownShards: readonly number[] | null;
  /** Null: the process is alone. */
  readonly cluster: ClusterSettings | null;
  readonly eventRetentionDays: number;
  readonly eventRetentionBytes: number;
  /** Bytes that the control logs of one tenant may have. */
  readonly controlLogBytes: number;
  readonly journalBacklogBytes: number;
  readonly freeBytesMin: number;
  readonly pointRetentionDays: number;
  /** Times of points before this are refused; microseconds. */
  readonly oldestTime: number;
  /** Days that the log of changes is kept. */
  readonly changeRetentionDays: number;
  /** Rows that one tenant may have in the log of changes. */
  readonly changeRowsMax: number;
  /** Bytes of the log of changes that one tenant may have. */
  readonly changeLogBytes: number;
  /** Bytes of one uploaded history file, unpacked. */
  readonly importBytesMax: number;
  /** How long the formulas of one answer may compute. */
  readonly formulaSecondsMax: number;
  readonly libsql: { readonly url: string; readonly authToken: string | null } | null;
  /** Null: points are in the embedded store. */
  readonly influx: InfluxSettings | null;
  /** An existing MQTT broker, or null. */
  readonly broker: BrokerConfig | null;
  /** The longest keep-alive of an MQTT 5 client, in seconds; null if the client's own holds. */
  readonly keepAliveMax: number | null;
  /** Bounds on the topics and filters of devices. */
  readonly topics: TopicBounds;
  /** Days that ended alerts are kept; 0 keeps them for ever. */
  readonly alertRetentionDays: number;
  /** How many ended alerts one tenant may have. */
  readonly alertHistoryMax: number;
  /** How long a device may be offline before an alert is raised. */
  readonly offlineAlertSeconds: number;
  /** Seconds of silence after which a device without a connection counts as gone. */
  readonly presenceSeconds: number;
  /** Messages that may wait for one client. */
  readonly sessionQueueMessagesMax: number;
  /** How much devices, and tenants, may use of the service; 0 = no limit. */
  readonly limits: { readonly device: LimitSettings; readonly tenant: LimitSettings };
  /** Addresses and networks, besides the public ones, that notifications may go to. */
  readonly notifyPrivateAddresses: readonly string[];
  /** The mail server of contact points that name none, or null. */
  readonly mailServer: OwnMailServer | null;
  /** Recipients that mail of one tenant may have within an hour; 0: no bound. */
  readonly mailLimits: { readonly recipientsMax: number; readonly testsMax: number };
  /** Where the service keeps backups of itself; null: it makes none. */
  readonly backup: BackupConfig | null;
  /** Where the console's maps have their tiles from; null: they show outlines alone. */
  readonly mapTiles: {
    /** With the places of `tileUrl`. */
    readonly template: string;
    /** The attribution that the source of the map requires. */
    readonly attribution: string;
    /** How the tiles are made fit for a dark page. */
    readonly dark: "invert" | "dim";
  } | null;
  /** Bench only: acknowledge and journal, but write no points. */
  readonly holdSeries: boolean;
}

export interface BackupConfig {
  readonly dir: string;
  /** Older ones are removed once a new one is complete; null keeps all. */
  readonly keep: number | null;
  /** A cron expression in the deployment's zone, checked at the start; null: none is made by itself. */
  readonly schedule: string | null;
}

interface BrokerConfig {
  readonly host: string;
  readonly port: number;
  /** Null for a connection without TLS. Paths of PEM files; each is null if not given. */
  readonly tls: { readonly caPath: string | null; readonly files: PemFiles | null } | null;
  readonly username: string | null;
  readonly password: string | null;
  /** If off, only this process takes the messages that devices publish there. */
  readonly shared: boolean;
}

/** How a mail server is reached. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** `tls` from the first byte; `starttls`: refuses to go on without it. */
  readonly security: "tls" | "starttls" | "none";
  readonly username: string | null;
}

/** The server that the deployment offers to all tenants, SMTP_URL; its address is the operator's choice. */
export interface OwnMailServer extends MailServer {
  readonly password: string | null;
  readonly from: string;
}

/** Every wrong value, each in one sentence. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
  }
}

const isWhole = (text: string, min: number, max: number): boolean => {
  const value = readInteger(text);
  return value !== null && value >= min && value <= max;
};
const whole = (min: number, max: number) => {
  const fits = (text: string) => isWhole(text, min, max);
  return z.string().refine(fits, `must be a whole number from ${min} to ${max}`).transform(Number);
};
const port = z
  .string()
  .refine(
    (text) => text === "off" || isWhole(text, 0, 65_535),
    "must be off or a whole number from 0 to 65535",
  )
  .transform((text): Port => (text === "off" ? null : Number(text)));
const bytes = whole(0, 2 ** 50);
/** The first microsecond of a UTC day whose points both engines can hold. */
const oldestTime = z.iso
  .date("must be a day, YYYY-MM-DD")
  .transform((day) => Date.parse(day) * 1000)
  .refine(isStorableTime, "must be a day from 1684-08-01 to 2255-05-31");
/** Addresses must have no credentials, because they are logged. */
function isBrokerAddress(text: string): boolean {
  if (!/^mqtts?:\/\/[^/@?#]+\/?$/.test(text) || !URL.canParse(text)) return false;
  const { hostname, username, password } = new URL(text);
  return hostname !== "" && username === "" && password === "";
}

const networks = z
  .string()
  .transform((text) => text.split(",").map((one) => one.trim()))
  .refine(
    (all) => all.every(isNetwork),
    "must be addresses or networks such as 10.0.0.0/8, separated by commas",
  );

const nodes = z
  .string()
  .transform(readNodes)
  .refine((all) => all !== null, "must be a list such as 1@10.0.0.1:7400,2@10.0.0.2:7400,3@10.0.0.3:7400");

const influxURLs = z
  .string()
  .transform(readInfluxURLs)
  .refine((all) => all !== null, "must be http:// or https:// addresses, separated by commas");

const basePath = z.string().transform((text, context) => {
  const problem = basePathProblem(text);
  if (problem === null) return text;
  context.addIssue({ code: "custom", message: problem });
  return z.NEVER;
});

const origins = z
  .string()
  .transform(readOrigins)
  .refine(
    (all) => all !== null,
    "must be origins such as https://app.example.com, in lower case, separated by commas; * is not taken",
  );

const journalURL = z.string().transform((text, context) => {
  const read = readJournalURL(text);
  if (typeof read === "object") return read;
  context.addIssue({ code: "custom", message: read });
  return z.NEVER;
});

const mailServerForm = /^smtps?:\/\/[^/?#]+\/?(?:\?security=none)?$/;

const schema = z.object({
  HOST: z.string().min(1).default("127.0.0.1"),
  HTTP_PORT: whole(0, 65_535).prefault(String(8080)),
  HTTPS_PORT: port.prefault("8443"),
  HTTP_CONNECTIONS_MAX: whole(8, 100_000).prefault(String(4000)),
  // One answer of data may hold 80 MiB.
  ANSWER_BYTES_MAX: whole(96 * 2 ** 20, 2 ** 40).prefault(String(128 * 2 ** 20)),
  MQTT_CONNECTIONS_MAX: whole(8, 1_000_000).prefault(String(100_000)),
  MQTT_PORT: port.prefault("1883"),
  MQTTS_PORT: port.prefault("8883"),
  MQTTSS_PORT: port.prefault("8884"),
  WS_PORT: port.prefault("8083"),
  WSS_PORT: port.prefault("8084"),
  DATA_DIR: z.string().min(1).default("./data"),
  API_KEY: z
    .string()
    .regex(/^[^:\s]{1,64}:\S{16,256}$/, "must be appID:appSecret, the secret of 16 characters or more")
    .optional(),
  ADMIN_PASSWORD: z.string().min(8, "must have 8 characters or more").optional(),
  MASTER_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, "must be 64 hexadecimal digits")
    .optional(),
  TIMEZONE: z.string().default("UTC"),
  TIMEZONE_DATA: z.string().min(1).max(4096).optional(),
  API_VARIANT: z.enum(["A", "B"]).default("A"),
  PUBLIC_HOST: z.string().min(1).max(255).optional(),
  BASE_PATH: basePath.optional(),
  CORS_ORIGINS: origins.default([]),
  CA_CERT: z.string().min(1).optional(),
  CA_KEY: z.string().min(1).optional(),
  TLS_CERT: z.string().min(1).optional(),
  TLS_KEY: z.string().min(1).optional(),
  TRUSTED_PROXIES: networks.default([]),
  PROXY_PROTOCOL: z.enum(["optional", "required", "off"]).default("optional"),
  TLS_SUITES: z.enum(["aead", "compatible"]).default("aead"),
  LOG_LEVEL: z.enum(["debug", "info", "warn", "error"]).default("info"),
  NODE_NUMBER: whole(0, 999).prefault(String(0)),
  CLUSTER_NODES: nodes.optional(),
  JOURNAL_URL: journalURL.optional(),
  JOURNAL_CA: z.string().optional(),
  // Two, three and six nodes have equal shares.
  JOURNAL_SHARDS: whole(1, 256).prefault(String(6)),
  JOURNAL_UNFLUSHED: z.enum(["refuse", "accept"]).default("refuse"),
  CLUSTER_HOST: z.string().min(1).max(255).optional(),
  EVENT_RETENTION_DAYS: whole(1, 36_500).prefault(String(30)),
  EVENT_RETENTION_BYTES: bytes.prefault(String(10 * 2 ** 30)),
  CONTROL_LOG_BYTES: bytes.prefault(String(2 ** 30)),
  JOURNAL_BACKLOG_BYTES: bytes.prefault(String(20 * 2 ** 30)),
  FREE_BYTES_MIN: bytes.prefault(String(512 * 10 ** 6)),
  POINT_RETENTION_DAYS: whole(0, 365_000).prefault(String(0)),
  OLDEST_TIME: oldestTime.prefault("1684-08-01"),
  CHANGE_RETENTION_DAYS: whole(1, 36_500).prefault(String(365)),
  CHANGE_ROWS_MAX: whole(1000, 1e9).prefault(String(1_000_000)),
  CHANGE_LOG_BYTES: bytes.prefault(String(2 ** 30)),
  IMPORT_BYTES_MAX: bytes.prefault(String(16 * 2 ** 30)),
  FORMULA_SECONDS_MAX: whole(1, 3600).prefault("5"),
  LIBSQL_URL: z.string().min(1).optional(),
  LIBSQL_AUTH_TOKEN: z.string().optional(),
  INFLUX_URL: influxURLs.optional(),
  INFLUX_TOKEN: z.string().min(1).optional(),
  INFLUX_ORG: z.string().min(1).optional(),
  INFLUX_BUCKET: z.string().min(1).default("tidemark"),
  BROKER_URL: z.string().refine(isBrokerAddress, "must be mqtt://host:port or mqtts://host:port").optional(),
  BROKER_USERNAME: z.string().min(1).max(256).optional(),
  BROKER_PASSWORD: z.string().min(1).max(1024).optional(),
  BROKER_SHARED: z.enum(["on", "off"]).default("on"),
  BROKER_CA: z.string().min(1).optional(),
  BROKER_CERT: z.string().min(1).optional(),
  BROKER_KEY: z.string().min(1).optional(),
  KEEP_ALIVE_MAX: whole(0, 65_535).prefault("0"),
  TOPIC_BYTES_MAX: whole(64, topicBytesLimit).prefault("1024"),
  TOPIC_LEVELS_MAX: whole(4, 1024).prefault("32"),
  ALERT_RETENTION_DAYS: whole(0, 36_500).prefault("0"),
  ALERT_HISTORY_MAX: whole(1000, 1e9).prefault(String(10 ** 6)),
  OFFLINE_ALERT_SECONDS: whole(1, 86_400).prefault("60"),
  PRESENCE_SECONDS: whole(10, 65_535).prefault("900"),
  SESSION_QUEUE_MESSAGES_MAX: whole(1, 65_000).prefault("10000"),
  DEVICE_CONNECTIONS_MAX: whole(0, 1e6).prefault("0"),
  DEVICE_MESSAGES_PER_SECOND: whole(0, 1e9).prefault("0"),
  DEVICE_BYTES_PER_SECOND: whole(0, 1e12).prefault("0"),
  TENANT_CONNECTIONS_MAX: whole(0, 1e6).prefault("0"),
  TENANT_MESSAGES_PER_SECOND: whole(0, 1e9).prefault("0"),
  TENANT_BYTES_PER_SECOND: whole(0, 1e12).prefault("0"),
  TENANT_MAIL_RECIPIENTS_PER_HOUR: whole(0, 1e9).prefault("1000"),
  TENANT_TEST_RECIPIENTS_PER_HOUR: whole(0, 1e9).prefault("20"),
  NOTIFY_PRIVATE_ADDRESSES: networks.default([]),
  SMTP_URL: z
    .string()
    .refine(
      (text) => mailServerForm.test(text) && URL.canParse(text),
      "must be smtps://user:password@host:port or smtp://user:password@host:port",
    )
    .optional(),
  SMTP_FROM: z.string().min(3).max(320).optional(),
  BACKUP_DIR: z.string().min(1).max(4096).optional(),
  BACKUP_KEEP: whole(0, 10_000).prefault("0"),
  BACKUP_SCHEDULE: z.string().min(1).max(255).optional(),
  MAP_TILES_URL: z
    .string()
    .max(2048)
    .refine(
      isTileTemplate,
      "must be http:// or https:// with {z}, {x} and {y} in its path or query and no credentials before its host",
    )
    .optional(),
  MAP_TILES_ATTRIBUTION: z
    .string()
    .max(300)
    .regex(withoutControls, "must not hold control characters")
    .optional(),
  MAP_TILES_DARK: z.enum(["invert", "dim"]).default("invert"),
  TIDEMARK_HOLD_SERIES: z.literal("1").optional(),
});

/** Reads the environment, and the files that it names for secrets; nothing else does. An empty value counts as unset. @throws ConfigError */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const secrets = readSecretFiles(set);
  const parsed = schema.safeParse(secrets.environment, { error: inWords });
  const wrong = (parsed.error?.issues ?? []).map(({ path, message }) => {
    const name = path.join(".");
    return `${secrets.fromFiles.has(name) ? `${name}_FILE` : name}: ${message}`;
  });
  if (!parsed.success || secrets.problems.length > 0) throw new ConfigError([...secrets.problems, ...wrong]);
  const env = parsed.data;
  const timeZones = readTimeZones(env);
  const problems = missingTogether(env);
  if (typeof timeZones === "string") throw new ConfigError([...problems, timeZones]);
  if (problems.length > 0) throw new ConfigError(problems);
  const masterKey = env.MASTER_KEY === undefined ? null : Buffer.from(env.MASTER_KEY, "hex");
  const journal = readJournalSettings(env);
  const cluster = readClusterSettings(env, { host: env.HOST, masterKey });
  const shards = allShards(env.NODE_NUMBER, cluster, journal);
  const [appID, appSecret] = env.API_KEY?.split(/:(.*)/s) ?? [];
  return Object.freeze({
    host: env.HOST,
    httpPort: env.HTTP_PORT,
    httpsPort: env.HTTPS_PORT,
    httpConnectionsMax: env.HTTP_CONNECTIONS_MAX,
    answerBytesMax: env.ANSWER_BYTES_MAX,
    mqttConnectionsMax: env.MQTT_CONNECTIONS_MAX,
    mqttPort: env.MQTT_PORT,
    mqttsPort: env.MQTTS_PORT,
    mqttssPort: env.MQTTSS_PORT,
    wsPort: env.WS_PORT,
    wssPort: env.WSS_PORT,
    dataDir: env.DATA_DIR,
    apiKey: appID !== undefined && appSecret !== undefined ? { appID, appSecret } : null,
    adminPassword: env.ADMIN_PASSWORD ?? null,
    masterKey,
    timezone: timeZones.rules(env.TIMEZONE)?.name ?? env.TIMEZONE,
    timeZones,
    apiVariant: env.API_VARIANT,
    publicHost: env.PUBLIC_HOST ?? null,
    basePath: env.BASE_PATH ?? "",
    corsOrigins: env.CORS_ORIGINS,
    authority: pemFiles(env.CA_CERT, env.CA_KEY),
    tls: serverFiles(env.TLS_CERT, env.TLS_KEY),
    trustedProxies: env.TRUSTED_PROXIES,
    proxyProtocol: env.PROXY_PROTOCOL,
    tlsSuites: env.TLS_SUITES,
    logLevel: env.LOG_LEVEL,
    nodeNumber: env.NODE_NUMBER,
    journal,
    shards,
    ownShards: cluster === null ? shards : journal === null ? [env.NODE_NUMBER] : null,
    cluster,
    eventRetentionDays: env.EVENT_RETENTION_DAYS,
    eventRetentionBytes: env.EVENT_RETENTION_BYTES,
    controlLogBytes: env.CONTROL_LOG_BYTES,
    journalBacklogBytes: env.JOURNAL_BACKLOG_BYTES,
    freeBytesMin: env.FREE_BYTES_MIN,
    pointRetentionDays: env.POINT_RETENTION_DAYS,
    oldestTime: env.OLDEST_TIME,
    changeRetentionDays: env.CHANGE_RETENTION_DAYS,
    changeRowsMax: env.CHANGE_ROWS_MAX,
    changeLogBytes: env.CHANGE_LOG_BYTES,
    importBytesMax: env.IMPORT_BYTES_MAX,
    formulaSecondsMax: env.FORMULA_SECONDS_MAX,
    libsql:
      env.LIBSQL_URL === undefined ? null : { url: env.LIBSQL_URL, authToken: env.LIBSQL_AUTH_TOKEN ?? null },
    influx: readInfluxSettings(env),
    broker: env.BROKER_URL === undefined ? null : parseBroker(env.BROKER_URL, env),
    keepAliveMax: env.KEEP_ALIVE_MAX === 0 ? null : env.KEEP_ALIVE_MAX,
    topics: { bytesMax: env.TOPIC_BYTES_MAX, levelsMax: env.TOPIC_LEVELS_MAX },
    alertRetentionDays: env.ALERT_RETENTION_DAYS,
    alertHistoryMax: env.ALERT_HISTORY_MAX,
    offlineAlertSeconds: env.OFFLINE_ALERT_SECONDS,
    presenceSeconds: env.PRESENCE_SECONDS,
    sessionQueueMessagesMax: env.SESSION_QUEUE_MESSAGES_MAX,
    limits: {
      device: {
        connectionsMax: env.DEVICE_CONNECTIONS_MAX,
        messagesPerSecond: env.DEVICE_MESSAGES_PER_SECOND,
        bytesPerSecond: env.DEVICE_BYTES_PER_SECOND,
      },
      tenant: {
        connectionsMax: env.TENANT_CONNECTIONS_MAX,
        messagesPerSecond: env.TENANT_MESSAGES_PER_SECOND,
        bytesPerSecond: env.TENANT_BYTES_PER_SECOND,
      },
    },
    notifyPrivateAddresses: env.NOTIFY_PRIVATE_ADDRESSES,
    mailServer: env.SMTP_URL === undefined ? null : parseMailServer(env.SMTP_URL, env.SMTP_FROM),
    mailLimits: {
      recipientsMax: env.TENANT_MAIL_RECIPIENTS_PER_HOUR,
      testsMax: env.TENANT_TEST_RECIPIENTS_PER_HOUR,
    },
    backup:
      env.BACKUP_DIR === undefined
        ? null
        : { dir: env.BACKUP_DIR, keep: env.BACKUP_KEEP || null, schedule: env.BACKUP_SCHEDULE ?? null },
    mapTiles:
      env.MAP_TILES_URL === undefined || env.MAP_TILES_ATTRIBUTION === undefined
        ? null
        : { template: env.MAP_TILES_URL, attribution: env.MAP_TILES_ATTRIBUTION, dark: env.MAP_TILES_DARK },
    holdSeries: env.TIDEMARK_HOLD_SERIES === "1",
  });
}

/** Where points live. */
export function seriesEngine({ influx }: { readonly influx: object | null }): "embedded" | "influxdb" {
  return influx === null ? "embedded" : "influxdb";
}

function pemFiles(certPath: string | undefined, keyPath: string | undefined): PemFiles | null {
  return certPath === undefined || keyPath === undefined ? null : { certPath, keyPath };
}

const namesIn = (list: string): string[] => list.split(",").map((one) => one.trim());

function serverFiles(certs: string | undefined, keys: string | undefined): Config["tls"] {
  if (certs === undefined || keys === undefined) return null;
  const keyPaths = namesIn(keys);
  return namesIn(certs).map((certPath, at) => ({ certPath, keyPath: keyPaths[at] ?? "" }));
}

/** Finds a fault of the lists; null: none. */
function serverFilesProblem(certs = "", keys = ""): string | null {
  const [all, allKeys] = [namesIn(certs), namesIn(keys)];
  const isSound = all.length === allKeys.length && all.length <= 2 && ![...all, ...allKeys].includes("");
  return isSound
    ? null
    : "TLS_CERT, TLS_KEY: must each be one file, or two separated by a comma, in the same order";
}

function parseBroker(address: string, env: z.infer<typeof schema>): BrokerConfig {
  const { protocol, hostname, port } = new URL(address);
  const secure = protocol === "mqtts:";
  const files = pemFiles(env.BROKER_CERT, env.BROKER_KEY);
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (secure ? 8883 : 1883) : Number(port),
    tls: secure ? { caPath: env.BROKER_CA ?? null, files } : null,
    username: env.BROKER_USERNAME ?? null,
    password: env.BROKER_PASSWORD ?? null,
    shared: env.BROKER_SHARED === "on",
  };
}

const mailPorts = { tls: 465, starttls: 587, none: 25 } as const;

function parseMailServer(address: string, from: string | undefined): OwnMailServer {
  const { protocol, hostname, port, username, password, search } = new URL(address);
  const security = protocol === "smtps:" ? "tls" : search === "" ? "starttls" : "none";
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    host,
    port: port === "" ? mailPorts[security] : Number(port),
    security,
    username: username === "" ? null : decodeURIComponent(username),
    password: password === "" ? null : decodeURIComponent(password),
    from: from ?? `tidemark@${mailDomain(host)}`,
  };
}

/** Settings that make sense only together. */
function missingTogether(env: z.infer<typeof schema>): string[] {
  const problems: string[] = [];
  if (env.LIBSQL_URL !== undefined && env.MASTER_KEY === undefined) {
    problems.push("MASTER_KEY: is required with LIBSQL_URL, for every process must open the same secrets");
  }
  const shards = env.JOURNAL_URL === undefined ? (env.CLUSTER_NODES?.length ?? 1) : env.JOURNAL_SHARDS;
  problems.push(...influxProblems(env, shards), ...clusterProblems(env), ...journalProblems(env));
  const secure = env.BROKER_URL?.startsWith("mqtts:") === true;
  for (const name of ["BROKER_CA", "BROKER_CERT", "BROKER_KEY"] as const) {
    if (env[name] !== undefined && !secure) problems.push(`${name}: needs a BROKER_URL of mqtts://`);
  }
  for (const name of ["BROKER_USERNAME", "BROKER_PASSWORD"] as const) {
    if (env[name] !== undefined && env.BROKER_URL === undefined) problems.push(`${name}: needs BROKER_URL`);
  }
  if (env.BACKUP_SCHEDULE !== undefined && env.BACKUP_DIR === undefined) {
    problems.push("BACKUP_SCHEDULE: needs BACKUP_DIR");
  }
  if (env.BROKER_PASSWORD !== undefined && env.BROKER_USERNAME === undefined) {
    problems.push("BROKER_PASSWORD: needs BROKER_USERNAME");
  }
  if (env.MAP_TILES_URL !== undefined && env.MAP_TILES_ATTRIBUTION === undefined) {
    problems.push("MAP_TILES_ATTRIBUTION: is required with MAP_TILES_URL, for a map names its source");
  }
  if (env.MAP_TILES_ATTRIBUTION !== undefined && env.MAP_TILES_URL === undefined) {
    problems.push("MAP_TILES_ATTRIBUTION: needs MAP_TILES_URL");
  }
  const pairs = [
    ["CA_CERT", "CA_KEY"],
    ["TLS_CERT", "TLS_KEY"],
    ["BROKER_CERT", "BROKER_KEY"],
  ] as const;
  for (const [cert, key] of pairs) {
    if ((env[cert] === undefined) !== (env[key] === undefined)) {
      problems.push(`${cert}, ${key}: are set together or not at all`);
    }
  }
  if (env.TLS_CERT !== undefined && env.TLS_KEY !== undefined) {
    const problem = serverFilesProblem(env.TLS_CERT, env.TLS_KEY);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

import { pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { covers, inboxAlias, inboxTopic } from "../../ingest/messages/topics.js";
import { ownFilter, sharedFilter, topicBranches } from "../../ingest/transports/broker/topics.js";
import type { PolicyRule } from "../../store/metadata/devices/access.js";
import type { BrokerDevice } from "../../store/metadata/devices/broker-devices.js";
import { hasPlaceholder, type Unwritten, withoutPlaceholders } from "./placeholders.js";

/** The file of Mosquitto's dynamic security plugin, as version 2 reads and writes it; it may hold more keys. */
export interface DynamicSecurity {
  readonly defaultACLAccess?: Readonly<Record<string, boolean>>;
  readonly clients: readonly DynamicClient[];
  readonly groups: readonly DynamicGroup[];
  readonly roles: readonly DynamicRole[];
}

/** What the plugin needs to know. */
export interface Prepared {
  readonly config: DynamicSecurity;
  /** User names of devices that cannot connect because somebody else already has the name. */
  readonly leftOut: readonly string[];
  readonly unwritten: Unwritten;
}

type AclKind = "publishClientSend" | "publishClientReceive";

export interface DynamicClient {
  readonly username: string;
  readonly disabled?: boolean;
  /** PBKDF2 with SHA-512, in base64 like the salt; without it nobody can connect by password. */
  readonly password?: string;
  readonly salt?: string;
  readonly iterations?: number;
  readonly roles: readonly RoleName[];
}

interface RoleName {
  readonly rolename: string;
  readonly priority?: number;
}

interface DynamicGroup {
  readonly clients?: readonly { readonly username: string }[];
}

interface DynamicRole {
  readonly rolename: string;
  readonly acls: readonly Acl[];
}

interface Acl {
  readonly acltype: AclKind | "subscribePattern" | "unsubscribePattern";
  readonly topic: string;
  /** The matching rule with the highest priority decides. */
  readonly priority: number;
  readonly allow: boolean;
}

/** Our roles; all others in the file belong to somebody else. */
const ownRoles = "tidemark:";
const iterations = 1000;
const hashBytes = 64;
const saltBytes = 12;
/** Uses part of the pool's four threads, which the journal's syncs need too. */
const hashesAtOnce = 2;
const derive = promisify(pbkdf2);

/** A denial wins. If there is an allow rule, only allowed topics pass; otherwise the whole branch is open. */
const priorities = { deny: 2, allow: 1, open: 0 } as const;
const actions = { publish: 0, subscribe: 1, both: 2 } as const;

/**
 * The clients and roles of every device, each in its own branch, and of Tidemark. No device may have the name of
 * Tidemark or of a certificate.
 */
export async function dynamicSecurity(
  devices: AsyncIterable<readonly BrokerDevice[]>,
  own: { readonly username: string; readonly password: string },
): Promise<Prepared> {
  const byPassword: DynamicClient[] = [];
  const certified = new Map<string, DynamicClient>();
  const roles: DynamicRole[] = [confined, roleOfTidemark];
  const nameless: BrokerDevice[] = [];
  const policies = new Map<number, Unwritten["policies"][number]>();
  const unsaid: Unsaid = ({ id, topic }) => void policies.set(id, { id, topic });
  for await (const all of devices) {
    nameless.push(...all.filter(isUnwritable));
    const some = all.filter((device) => !isUnwritable(device));
    roles.push(...some.map((device) => createRole(device, unsaid)));
    byPassword.push(...(await createClients(some)));
    for (const client of some.flatMap(createCertifiedClients)) {
      const known = certified.get(client.username);
      // A certificate of several devices has the branches of all of them.
      certified.set(client.username, { ...client, roles: [...(known?.roles ?? []), ...client.roles] });
    }
  }
  const tidemark = { username: own.username, ...(await hashed(own.password)), roles: [named("tidemark")] };
  const taken = new Set([...certified.keys(), own.username]);
  const { clients, leftOut } = without(taken, byPassword);
  const all = [...clients, ...certified.values(), tidemark];
  return {
    config: {
      defaultACLAccess: {
        publishClientSend: false,
        publishClientReceive: false,
        subscribe: false,
        unsubscribe: true,
      },
      clients: all.map((client) => ({ ...client, roles: [...client.roles, named("confined", -1)] })),
      groups: [],
      roles,
    },
    leftOut,
    unwritten: {
      devices: nameless.map(({ deviceID, deviceUsername }) => ({ deviceID, deviceUsername })),
      policies: [...policies.values()],
    },
  };
}

/** A name into which the broker would substitute that of another client. */
function isUnwritable({ deviceID, deviceUsername, commonNames }: BrokerDevice): boolean {
  return [deviceID, deviceUsername, ...commonNames].some(hasPlaceholder);
}

/** Called for each rule that cannot be written as it is. */
type Unsaid = (rule: PolicyRule) => void;

/** Separates the clients whose names are free from those that must stay out. */
export function without(taken: ReadonlySet<string>, clients: readonly DynamicClient[]) {
  return {
    clients: clients.filter(({ username }) => !taken.has(username)),
    leftOut: clients.map(({ username }) => username).filter((username) => taken.has(username)),
  };
}

export const isOwnClient = ({ rolename }: RoleName): boolean => rolename.startsWith(ownRoles);

export const isTidemark = ({ roles }: DynamicClient): boolean =>
  roles.some(({ rolename }) => rolename === roleOfTidemark.rolename);

const named = (name: string, priority = 0) => ({ rolename: `${ownRoles}${name}`, priority });

async function hashed(password: string) {
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, salt, iterations, hashBytes, "sha512");
  return { password: hash.toString("base64"), salt: salt.toString("base64"), iterations };
}

/** A device that authenticates by token. */
type Entering = BrokerDevice & { readonly token: string };

async function createClients(devices: readonly BrokerDevice[]): Promise<DynamicClient[]> {
  const made: DynamicClient[] = [];
  const entering = devices.filter((device): device is Entering => device.token !== null);
  for (let at = 0; at < entering.length; at += hashesAtOnce) {
    made.push(...(await Promise.all(entering.slice(at, at + hashesAtOnce).map(createClient))));
  }
  return made;
}

async function createClient({ id, deviceUsername, token, blocked }: Entering): Promise<DynamicClient> {
  return {
    username: deviceUsername,
    ...(blocked ? { disabled: true } : {}),
    ...(await hashed(token)),
    roles: [named(`device:${id}`)],
  };
}

/** Under `use_identity_as_username` the common name is who a client is. */
function createCertifiedClients({ id, blocked, commonNames }: BrokerDevice): DynamicClient[] {
  if (blocked) return [];
  return commonNames.map((username) => ({ username, roles: [named(`device:${id}`)] }));
}

function createRole(device: BrokerDevice, unsaid: Unsaid): DynamicRole {
  const { up, down } = topicBranches(device.deviceID);
  return {
    rolename: named(`device:${device.id}`).rolename,
    acls: [
      ...createACLs("publishClientSend", up, device, actions.publish, unsaid),
      ...createACLs("publishClientReceive", down, device, actions.subscribe, unsaid),
      { acltype: "subscribePattern", topic: `${down}#`, priority: 0, allow: true },
    ],
  };
}

function createACLs(
  acltype: AclKind,
  branch: string,
  device: BrokerDevice,
  action: number,
  unsaid: Unsaid,
): Acl[] {
  const rules = device.rules.filter(({ access }) => access === action || access === actions.both);
  const allows = rules.filter(({ allow }) => allow === 1);
  const acls = new Map<string, Acl>();
  const add = (filter: string, allow: boolean, priority: number): void => {
    const topic = `${branch}${filter}`;
    // Each topic appears once, and denials come first.
    if (!acls.has(topic)) acls.set(topic, { acltype, topic, priority, allow });
  };
  for (const rule of rules) {
    if (rule.allow !== 1) {
      for (const filter of writable(rule, device, unsaid)) add(filter, false, priorities.deny);
    }
  }
  for (const rule of allows) {
    for (const filter of writable(rule, device, unsaid)) add(filter, true, priorities.allow);
  }
  if (allows.length === 0) add("#", true, priorities.open);
  return [...acls.values()];
}

/**
 * The rule's filters without placeholders of the broker: never less is denied, and never more is allowed, than the rule
 * says.
 */
function writable(rule: PolicyRule, device: BrokerDevice, unsaid: Unsaid): string[] {
  const filters = listFilters(rule, device);
  if (!filters.some(hasPlaceholder)) return filters;
  unsaid(rule);
  return rule.allow === 1 ? [] : filters.map(withoutPlaceholders);
}

/**
 * A rule's filter with the device's names put in, under both names of the inbox. A name with a wildcard in it cannot be
 * written literally: such a denial covers more than it says, such a permission is left out.
 */
function listFilters({ topic, allow }: PolicyRule, { deviceID, deviceUsername }: BrokerDevice): string[] {
  const isWide = topic.includes("%u") && /[+#]/.test(deviceUsername);
  if (isWide && allow === 1) return [];
  const name = isWide ? widened(deviceUsername) : deviceUsername;
  const filter = topic.replace(/%[du]/g, (word) => (word === "%d" ? deviceID : name));
  const alias = inboxAlias(deviceID);
  if (covers(filter, inboxTopic) === covers(filter, alias)) return [filter];
  return [filter, covers(filter, alias) ? inboxTopic : alias];
}

/** `a/b+c/d` becomes `a/+/d`: wildcards stand for whole levels only. */
function widened(name: string): string {
  return name
    .split("/")
    .map((level) => (/[+#]/.test(level) ? "+" : level))
    .join("/");
}

/**
 * Comes after the other rules of each client: topics that those do not allow are denied, whatever the file's defaults
 * and groups say. `#` does not cover topics that begin with `$`.
 */
const confined: DynamicRole = {
  rolename: named("confined").rolename,
  acls: [
    ...["#", "$SYS/#", "$CONTROL/#", "$share/#"].flatMap((topic) =>
      (["publishClientSend", "publishClientReceive", "subscribePattern"] as const).map((acltype) => ({
        acltype,
        topic,
        priority: 0,
        allow: false,
      })),
    ),
    { acltype: "unsubscribePattern", topic: "#", priority: 0, allow: true },
  ],
};

const roleOfTidemark: DynamicRole = {
  rolename: named("tidemark").rolename,
  acls: [
    { acltype: "publishClientReceive", topic: ownFilter, priority: 0, allow: true },
    { acltype: "subscribePattern", topic: ownFilter, priority: 0, allow: true },
    { acltype: "subscribePattern", topic: sharedFilter, priority: 0, allow: true },
    { acltype: "publishClientSend", topic: "devices/+/down/#", priority: 0, allow: true },
  ],
};

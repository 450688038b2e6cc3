import { pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { covers, inboxAlias, inboxTopic } from "../../ingest/topics.js";
import { branchOf, ownFilter, sharedFilter } from "../../ingest/transports/broker/topics.js";
import type { BrokerDevice } from "../../store/broker-devices.js";
import type { PolicyRule } from "../../store/device-access.js";

/** The file of Mosquitto's dynamic security plugin, as version 2 reads and writes it. */
export interface DynamicSecurity {
  readonly defaultACLAccess?: Readonly<Record<AclKind | "subscribe" | "unsubscribe", boolean>>;
  readonly clients: readonly DynamicClient[];
  readonly groups: readonly object[];
  readonly roles: readonly DynamicRole[];
}

type AclKind = "publishClientSend" | "publishClientReceive";

export interface DynamicClient {
  readonly username: string;
  readonly disabled?: boolean;
  /** PBKDF2 with SHA-512, base64, as is the salt; without it nobody enters by password. */
  readonly password?: string;
  readonly salt?: string;
  readonly iterations?: number;
  readonly roles: readonly { readonly rolename: string; readonly priority?: number }[];
}

export interface DynamicRole {
  readonly rolename: string;
  readonly acls: readonly Acl[];
}

interface Acl {
  readonly acltype: AclKind | "subscribePattern";
  readonly topic: string;
  /** The highest that fits decides. */
  readonly priority: number;
  readonly allow: boolean;
}

/** Roles of ours; all others in the file are somebody else's. */
const ownRoles = "tidemark:";
const iterations = 1000;
const hashBytes = 64;
const saltBytes = 12;
/** Of the four threads that the journal's syncs run in as well. */
const hashesAtOnce = 2;
const derive = promisify(pbkdf2);

/** Deny wins; with an allow rule only allowed topics pass; otherwise the whole branch is open. */
const priorities = { deny: 2, allow: 1, open: 0 } as const;
const actions = { publish: 0, subscribe: 1, both: 2 } as const;

/** What the plugin is to know: every device in its own branch, and Tidemark. */
export async function dynamicSecurity(
  devices: AsyncIterable<readonly BrokerDevice[]>,
  own: { readonly username: string; readonly password: string },
): Promise<DynamicSecurity> {
  const clients = new Map<string, DynamicClient>();
  const roles: DynamicRole[] = [roleOfTidemark];
  for await (const some of devices) {
    roles.push(...some.map(roleOf));
    const made = await clientsOf(some);
    for (const client of [...made, ...some.flatMap(certified)]) {
      const known = clients.get(client.username);
      // A certificate of several devices has the branches of all of them.
      clients.set(client.username, known ? { ...client, roles: [...known.roles, ...client.roles] } : client);
    }
  }
  const tidemark = { username: own.username, ...(await hashed(own.password)), roles: [named("tidemark")] };
  clients.set(own.username, tidemark);
  return {
    defaultACLAccess: {
      ...{ publishClientSend: false, publishClientReceive: false, subscribe: false, unsubscribe: true },
    },
    clients: [...clients.values()],
    groups: [],
    roles,
  };
}

/** What is there keeps its clients, groups and roles of others. */
export function mergeInto(there: DynamicSecurity, ours: DynamicSecurity): DynamicSecurity {
  const names = new Set(ours.clients.map(({ username }) => username));
  const isOurs = ({ rolename }: { readonly rolename: string }) => rolename.startsWith(ownRoles);
  const others = (there.clients ?? []).filter(
    ({ username, roles = [] }) => !names.has(username) && !roles.some(isOurs),
  );
  return {
    ...ours,
    clients: [...others, ...ours.clients],
    groups: there.groups ?? [],
    roles: [...(there.roles ?? []).filter((role) => !isOurs(role)), ...ours.roles],
  };
}

const named = (name: string) => ({ rolename: `${ownRoles}${name}`, priority: 0 });

async function hashed(password: string) {
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, salt, iterations, hashBytes, "sha512");
  return { password: hash.toString("base64"), salt: salt.toString("base64"), iterations };
}

async function clientsOf(devices: readonly BrokerDevice[]): Promise<DynamicClient[]> {
  const made: DynamicClient[] = [];
  for (let at = 0; at < devices.length; at += hashesAtOnce) {
    made.push(...(await Promise.all(devices.slice(at, at + hashesAtOnce).map(clientOf))));
  }
  return made;
}

async function clientOf({ id, deviceUsername, token, blocked }: BrokerDevice): Promise<DynamicClient> {
  return {
    username: deviceUsername,
    ...(blocked ? { disabled: true } : {}),
    ...(token === null ? {} : await hashed(token)),
    roles: [named(`device:${id}`)],
  };
}

/** Under `use_identity_as_username` the common name is who a client is. */
function certified({ id, blocked, commonNames }: BrokerDevice): DynamicClient[] {
  if (blocked) return [];
  return commonNames.map((username) => ({ username, roles: [named(`device:${id}`)] }));
}

function roleOf(device: BrokerDevice): DynamicRole {
  const { up, down } = branchOf(device.deviceID);
  return {
    rolename: named(`device:${device.id}`).rolename,
    acls: [
      ...aclsOf("publishClientSend", up, device, actions.publish),
      ...aclsOf("publishClientReceive", down, device, actions.subscribe),
      { acltype: "subscribePattern", topic: `${down}#`, priority: 0, allow: true },
    ],
  };
}

function aclsOf(acltype: AclKind, branch: string, device: BrokerDevice, action: number): Acl[] {
  const rules = device.rules.filter(({ access }) => access === action || access === actions.both);
  const allows = rules.filter(({ allow }) => allow === 1);
  const acls = new Map<string, Acl>();
  const add = (filter: string, allow: boolean, priority: number): void => {
    const topic = `${branch}${filter}`;
    // One topic stands once, and a denial stands first.
    if (!acls.has(topic)) acls.set(topic, { acltype, topic, priority, allow });
  };
  for (const rule of rules) {
    if (rule.allow !== 1) for (const filter of filtersOf(rule, device)) add(filter, false, priorities.deny);
  }
  for (const rule of allows) {
    for (const filter of filtersOf(rule, device)) add(filter, true, priorities.allow);
  }
  if (allows.length === 0) add("#", true, priorities.open);
  return [...acls.values()];
}

/**
 * A rule's filter with the device's names put in, under both names of the inbox. A name with a wildcard in it cannot
 * be said literally: such a denial covers more than it says, such a permission is left out.
 */
function filtersOf({ topic, allow }: PolicyRule, { deviceID, deviceUsername }: BrokerDevice): string[] {
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

const roleOfTidemark: DynamicRole = {
  rolename: named("tidemark").rolename,
  acls: [
    { acltype: "publishClientReceive", topic: ownFilter, priority: 0, allow: true },
    { acltype: "subscribePattern", topic: ownFilter, priority: 0, allow: true },
    { acltype: "subscribePattern", topic: sharedFilter, priority: 0, allow: true },
    { acltype: "publishClientSend", topic: "devices/+/down/#", priority: 0, allow: true },
  ],
};

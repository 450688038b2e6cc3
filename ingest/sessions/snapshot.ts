import type { MessageProperties, MqttSubscription, Will } from "../../store/journal/message.js";
import { decodeProperties, type WrittenProperties, writeProperties } from "../../store/journal/properties.js";
import { forEachInSlices } from "../../store/lib/scheduling.js";
import type {
  MessageRow,
  RetainedRow,
  RowChanges,
  SessionRow,
  WillRow,
} from "../../store/mqtt-sessions/session-rows.js";
import type { SessionStore } from "../../store/mqtt-sessions/session-store.js";
import type { PlatformPart } from "../messages/platform-subscriptions.js";
import { ownMap } from "../messages/shared-empty.js";
import type { Marked } from "./changes.js";
import { countOwnBytes } from "./held-bytes.js";
import type { SessionRegistry } from "./session-registry.js";
import {
  createDeviceSessions,
  createSessionState,
  type DeviceSessions,
  type DueWill,
  type Outgoing,
  type Retained,
  type SessionState,
} from "./state.js";
import { createSubscriptions } from "./subscriptions.js";
import { weightOfMessage } from "./weights.js";

/** The state as rows, and back. */

/** Made in slices: other shards take messages meanwhile. @throws SyntaxError for a file that another wrote */
export async function loadSessions(store: SessionStore): Promise<DeviceSessions[]> {
  const rows = await store.load();
  const registry = new Map<number, DeviceSessions>();
  const of = ({
    tenant,
    device,
    deviceID,
  }: Pick<DeviceSessions, "tenant" | "device" | "deviceID">): DeviceSessions => {
    const deviceSessions = registry.get(device) ?? createDeviceSessions(tenant, device, deviceID);
    registry.set(device, deviceSessions);
    return deviceSessions;
  };
  await forEachInSlices(rows.sessions, (row) => {
    of(row).sessions.set(row.clientID, toSession(row));
  });
  await forEachInSlices(rows.messages, (row) => {
    const state = registry.get(row.device)?.sessions.get(row.clientID);
    if (state === undefined) return;
    const message = toOutgoing(row);
    const outgoing = ownMap(state.outgoing);
    outgoing.set(row.messageID, message);
    state.outgoing = outgoing;
    state.outgoingBytes += weightOfMessage(message);
  });
  await forEachInSlices(rows.retained, (row) => {
    const deviceSessions = of(row);
    const message = toRetained(row);
    const retained = ownMap(deviceSessions.retained);
    retained.set(row.topic, message);
    deviceSessions.retained = retained;
    deviceSessions.retainedBytes += weightOfMessage({ topic: row.topic, ...message });
  });
  await forEachInSlices(rows.wills, (row) => {
    of(row).wills.push(toDueWill(row));
  });
  return [...registry.values()];
}

/**
 * The rows of what is marked, as it is now; what no longer exists is removed. Sessions and wills become rows at once,
 * for they change; messages do not, so only their keys are noted, and their rows are made one by one as they are
 * written.
 */
export function createSnapshotRows(registry: SessionRegistry, marked: Marked): RowChanges {
  const isThere = (state: SessionState): boolean =>
    registry.get(state.device)?.sessions.get(state.clientID) === state;
  const sessions: SessionRow[] = [];
  const messages: MessageThen[] = [];
  const retained: RetainedThen[] = [];
  const wills: WillRow[] = [];
  const endedSessions: [device: number, clientID: string][] = [];
  const endedMessages: [device: number, clientID: string, messageID: number][] = [];
  const endedRetained: [device: number, topic: string][] = [];
  const endedWills: [connection: number][] = [];

  for (const state of marked.sessions) {
    const { device, clientID } = state;
    const deviceSessions = registry.get(device);
    // A session that has taken its place is marked as well, and saved after this one is removed.
    if (deviceSessions === undefined || !isThere(state)) endedSessions.push([device, clientID]);
    else sessions.push({ ...selectIds(deviceSessions), ...sessionRow(state) });
  }
  for (const [state, ids] of marked.messages) {
    if (!isThere(state)) continue;
    for (const id of ids) {
      const message = state.outgoing.get(id);
      if (message === undefined) endedMessages.push([state.device, state.clientID, id]);
      else messages.push({ state, message, sent: message.sent, received: message.received });
    }
  }
  for (const [device, topics] of marked.retained) {
    const deviceSessions = registry.get(device);
    const ids = deviceSessions && selectIds(deviceSessions);
    for (const topic of topics) {
      const message = deviceSessions?.retained.get(topic);
      if (ids === undefined || message === undefined) endedRetained.push([device, topic]);
      else retained.push({ ids, topic, message });
    }
  }
  for (const [device, connections] of marked.wills) {
    const deviceSessions = registry.get(device);
    for (const connection of connections) {
      const due = deviceSessions?.wills.find((one) => one.connection === connection);
      if (deviceSessions === undefined || due === undefined) endedWills.push([connection]);
      else wills.push({ ...selectIds(deviceSessions), ...willRow(due) });
    }
  }
  return {
    sessions,
    messages: messageRows(messages),
    retained: retainedRows(retained),
    wills,
    endedSessions,
    endedMessages,
    endedRetained,
    endedWills,
  };
}

type Ids = Pick<DeviceSessions, "tenant" | "device" | "deviceID">;

/** A message, with a copy of the fields that change. */
interface MessageThen {
  readonly state: SessionState;
  readonly message: Outgoing;
  readonly sent: boolean;
  readonly received: boolean;
}

interface RetainedThen {
  readonly ids: Ids;
  readonly topic: string;
  readonly message: Retained;
}

function* messageRows(messages: Iterable<MessageThen>): Generator<MessageRow> {
  for (const one of messages) yield messageRow(one);
}

function* retainedRows(retained: Iterable<RetainedThen>): Generator<RetainedRow> {
  for (const { ids, topic, message } of retained) yield { ...ids, topic, ...retainedRow(message) };
}

function selectIds({ tenant, device, deviceID }: DeviceSessions): Ids {
  return { tenant, device, deviceID };
}

function sessionRow(state: SessionState): Omit<SessionRow, keyof Ids> {
  const { clientID, session, connection, ip, keepAlive, endedAt, expiry, lastMessageID, will } = state;
  return {
    clientID,
    session,
    connection,
    ip,
    keepAlive,
    endedAt,
    expiry,
    lastMessageID,
    hasInbox: state.hasInbox ? 1 : 0,
    subscriptions: JSON.stringify([...state.subscriptions]),
    platform: state.platform === null ? null : JSON.stringify([...state.platform]),
    unreleased: JSON.stringify([...state.unreleased]),
    will: will === null ? null : willText(will),
    willPayload: will?.payload ?? null,
  };
}

function toSession(row: SessionRow): SessionState {
  const state = createSessionState(row.tenant, row.device, row.clientID, row.session);
  Object.assign(state, {
    connection: row.connection,
    endedAt: row.endedAt,
    expiry: row.expiry,
    ip: row.ip,
    keepAlive: row.keepAlive,
    lastMessageID: row.lastMessageID,
    hasInbox: row.hasInbox === 1,
    will: row.will === null ? null : toWill(row.will, row.willPayload ?? new Uint8Array(0)),
    subscriptions: createSubscriptions(JSON.parse(row.subscriptions) as [string, MqttSubscription][]),
    platform: row.platform === null ? null : (new Map(JSON.parse(row.platform)) as PlatformPart),
    unreleased: new Set(JSON.parse(row.unreleased) as number[]),
  });
  state.ownBytes = countOwnBytes(state);
  return state;
}

function messageRow({ state, message, sent, received }: MessageThen): MessageRow {
  const { device, clientID } = state;
  const { messageID, topic, payload, qos, at } = message;
  return {
    device,
    clientID,
    messageID,
    topic,
    payload,
    qos,
    at,
    retain: message.retain ? 1 : 0,
    properties: propertiesText(message.properties),
    identifiers: JSON.stringify(message.identifiers),
    sent: sent ? 1 : 0,
    received: received ? 1 : 0,
    receipt: message.receipt,
  };
}

function toOutgoing({ messageID, topic, at, ...row }: MessageRow): Outgoing {
  return {
    messageID,
    topic,
    at,
    payload: bytes(row.payload),
    qos: row.qos === 2 ? 2 : 1,
    retain: row.retain === 1,
    properties: toProperties(row.properties),
    identifiers: JSON.parse(row.identifiers) as number[],
    sent: row.sent === 1,
    received: row.received === 1,
    receipt: row.receipt,
    settled: undefined,
  };
}

function retainedRow({ payload, qos, properties, at }: Retained): Omit<RetainedRow, keyof Ids | "topic"> {
  return { payload, qos, properties: propertiesText(properties), at };
}

function toRetained({ payload, qos, properties, at }: RetainedRow): Retained {
  return {
    payload: bytes(payload),
    qos: qos as 0 | 1 | 2,
    properties: toProperties(properties),
    at,
    order: 0,
  };
}

function willRow({ will, ...due }: DueWill): Omit<WillRow, keyof Ids> {
  const { session, clientID, ip, connection, dueAt } = due;
  return { session, clientID, ip, connection, dueAt, will: willText(will), willPayload: will.payload };
}

function toDueWill(row: WillRow): DueWill {
  const { tenant, device, session, clientID, ip, connection, dueAt } = row;
  const will = toWill(row.will, row.willPayload);
  return { tenant, device, session, clientID, ip, connection, dueAt, will };
}

function willText({ topic, qos, retain, delay, properties }: Will): string {
  return JSON.stringify({
    topic,
    qos,
    retain,
    delay,
    properties: properties === null ? null : writeProperties(properties),
  });
}

function toWill(text: string, payload: Uint8Array): Will {
  const said = JSON.parse(text) as Omit<Will, "payload" | "properties"> & {
    readonly properties: WrittenProperties | null;
  };
  const properties = said.properties === null ? null : decodeProperties(said.properties);
  return { ...said, payload: bytes(payload), properties };
}

function propertiesText(properties: MessageProperties | null): string | null {
  return properties === null ? null : JSON.stringify(writeProperties(properties));
}

function toProperties(text: string | null): MessageProperties | null {
  return text === null ? null : decodeProperties(JSON.parse(text) as WrittenProperties);
}

/** libSQL returns blobs as ArrayBuffer. */
function bytes(blob: Uint8Array | ArrayBuffer): Uint8Array {
  return blob instanceof Uint8Array ? blob : new Uint8Array(blob);
}

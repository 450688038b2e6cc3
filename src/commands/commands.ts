import { setTimeout as pause } from "node:timers/promises";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import { inboxTopic } from "../../ingest/messages/topics.js";
import { mayReceive } from "../../ingest/policies.js";
import type { Connections } from "../../ingest/sessions/connections.js";
import type { Downlinks } from "../../ingest/sessions/downlinks.js";
import { StoreError } from "../../store/lib/errors.js";
import type { CommandTarget } from "../../store/metadata/commands/command-targets.js";
import {
  createControlLog,
  type NewControlLog,
  publishStatuses,
} from "../../store/metadata/commands/control-logs.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { carriedMessage } from "./carried.js";
import type { Receipts } from "./receipts.js";
import { createUnconfirmed } from "./unconfirmed.js";

/** What a command says, to whomever it goes. */
export interface Command {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  /** Seconds that it may wait. */
  readonly ttl: number;
}

/** By whom a command reaches its device, found before its log is written. */
interface Way {
  /** The device itself, or what carries it. */
  readonly to: DeviceEntry;
  /** String id of the device where another carries it; null: it goes straight. */
  readonly carried: string | null;
  /** It waits where a kill does not lose it: in the journal. */
  readonly outlives: boolean;
  /** What the receiver grants of the QoS that was asked for. */
  readonly qos: 0 | 1;
  /** A client is there now. */
  readonly isLive: boolean;
}

/** A message whose log is committed. */
interface Logged {
  readonly logID: number;
  readonly groupLogIntID: number | null;
}

/** The way down: a log first, then the packet, then what the client says to it. */
export interface Commands {
  /**
   * To one device; true when it was handed over, or waits where a kill does not lose it. @throws StoreError
   * UNAVAILABLE where nothing can be kept for it
   */
  publish(actor: Actor, target: CommandTarget, command: Command): Promise<boolean>;
  /** Null: nobody is there for it, it is forbidden, or it would have to be kept and nothing can be kept now. */
  wayTo(target: CommandTarget, command: Pick<Command, "topic" | "qos">): Promise<Way | null>;
  /** The log that goes before it. */
  logOf(target: CommandTarget, way: Way | null, group: number | null, command: Command): NewControlLog;
  /**
   * Sends what is logged as issued; its log moves on at the acknowledgement, or when nobody holds the message any
   * more. Resolves once a kill would not lose what waits for a client that is away; false: nobody took it.
   */
  send(way: Way, logged: Logged, command: Command): Promise<boolean>;
  /** To every client of a member, without log and receipt. */
  sendToMember(target: CommandTarget, topic: string, payload: Uint8Array): boolean;
  /** Whether any client of the device is there, or of what carries it and may hand on the topic. */
  isConnected(target: CommandTarget, topic: string): Promise<boolean>;
  /** Resolves once all of these are kept; what waits for a journal that takes nothing is not waited for. */
  kept(sending: readonly Promise<unknown>[]): Promise<void>;
  /** Resolves when the tenant's clients have taken most of what they were sent, or are too slow to wait for. */
  room(tenant: number): Promise<void>;
}

/** Where devices may be that have no connection here: the external broker. */
export interface Elsewhere {
  readonly isUp: boolean;
  /** At QoS 0; false where nobody takes it. */
  send(device: number, topic: string, payload: Uint8Array): boolean;
}

interface CommandsDeps {
  readonly db: Db;
  readonly node: number;
  readonly sessions: Pick<Connections, "has" | "sendToAll" | "waitingBytes">;
  readonly downlinks: Downlinks;
  readonly elsewhere?: Elsewhere;
  readonly directory: { get(id: number): Promise<DeviceEntry | undefined> };
  readonly receipts: Receipts;
  /** Why the journal takes nothing, or null. */
  readonly stopped: () => string | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Payloads that a tenant's clients have been sent and have not confirmed; and bytes that their connections have not taken. */
const waitingBytesMax = 16 * 1024 * 1024;
const roomWaitMs = 5000;
const roomLookMs = 20;
const lookMs = 10;

export function createCommands(deps: CommandsDeps): Commands {
  const { db, node, sessions, downlinks, elsewhere, directory, receipts, stopped, now } = deps;
  const { failed, issued, confirmed, unconfirmed } = publishStatuses;
  const unconfirmedBytes = createUnconfirmed(sessions.has);

  const carries = (target: CommandTarget): target is CommandTarget & { carrier: number } =>
    target.carrier !== null && !sessions.has(target.id);

  /** A device's own rules hold for what its carrier brings it. */
  async function mayBeCarried({ id }: CommandTarget, topic: string): Promise<boolean> {
    const entry = await directory.get(id);
    return entry !== undefined && mayReceive(entry, topic);
  }

  async function find(target: CommandTarget, command: Pick<Command, "topic" | "qos">): Promise<Way | null> {
    const { topic, qos } = command;
    if (target.blocked === 1) return null;
    if (carries(target)) {
      if (!(await mayBeCarried(target, topic))) return null;
      const reach = await downlinks.reach(target.carrier, inboxTopic, qos);
      if (reach !== null) {
        const { entry: to, ...found } = reach;
        return { ...found, to, carried: target.deviceID };
      }
    }
    const reach = await downlinks.reach(target.id, topic, qos);
    if (reach === null) return null;
    const { entry: to, ...found } = reach;
    return { ...found, to, carried: null };
  }

  /** Why what waits in the journal cannot be kept, or null. */
  const refusal = (way: Way | null): string | null => (way?.outlives === true ? stopped() : null);

  const logOf: Commands["logOf"] = (target, way, groupLogIntID, command) => ({
    ...command,
    ...{ deviceIntID: target.id, groupLogIntID, node },
    qos: way?.qos ?? command.qos,
    publishStatus: way === null ? failed : issued,
  });

  const send: Commands["send"] = (way, { logID: id, groupLogIntID }, command) =>
    new Promise((resolve) => {
      const { ttl } = command;
      const { topic, payload } = way.carried === null ? command : carriedMessage(way.carried, command);
      const bytes = way.isLive ? payload.length : 0;
      const { tenant } = way.to.device;
      const confirm = unconfirmedBytes.add(tenant, way.to.id, bytes);
      const message = { topic, payload, qos: way.qos, ttl, receipt: id };
      const settled = (acknowledged: boolean) => {
        // Given up before it was kept: no queue had room for it, or no client takes so large a packet.
        if (!acknowledged) resolve(false);
        confirm();
        receipts.add({ id, groupLogIntID, publishStatus: acknowledged ? confirmed : failed });
      };
      const sent = downlinks.send(way.to, message, settled, () => resolve(true));
      if (sent === "awaited") return;
      confirm();
      // The client has gone, or reads too slowly, since its log was written.
      receipts.add({ id, groupLogIntID, publishStatus: sent === "sent" ? unconfirmed : failed });
      resolve(sent === "sent");
    });

  return {
    wayTo: async (target, command) => {
      const way = await find(target, command);
      return refusal(way) === null ? way : null;
    },
    logOf,
    send,
    publish: async (actor, target, command) => {
      const way = await find(target, command);
      const reason = refusal(way);
      if (reason !== null) throw new StoreError("UNAVAILABLE", `cannot keep the command: ${reason}`);
      const logID = await createControlLog(db, actor, now(), logOf(target, way, null, command));
      return way !== null && send(way, { logID, groupLogIntID: null }, command);
    },
    isConnected: async (target, topic) => {
      if (target.blocked === 1) return false;
      const isThere = (id: number) => sessions.has(id) || elsewhere?.isUp === true;
      if (!carries(target)) return isThere(target.id);
      return isThere(target.carrier) && mayBeCarried(target, topic);
    },
    sendToMember: (target, topic, payload) => {
      const send = (id: number, message: { topic: string; payload: Uint8Array }) =>
        sessions.sendToAll(id, message.topic, message.payload) ||
        elsewhere?.send(id, message.topic, message.payload) === true;
      if (!carries(target)) return send(target.id, { topic, payload });
      return send(target.carrier, carriedMessage(target.deviceID, { topic, payload }));
    },
    kept: async (sending) => {
      const all = Promise.all(sending).then(() => true);
      do {
        if (await Promise.race([all, pause(lookMs, false)])) return;
      } while (stopped() === null);
    },
    room: async (tenant) => {
      for (let waitedMs = 0; waitedMs < roomWaitMs; waitedMs += roomLookMs) {
        const isConfirmed = unconfirmedBytes.isWithin(tenant, waitingBytesMax);
        if (isConfirmed && sessions.waitingBytes(tenant) <= waitingBytesMax) return;
        await pause(roomLookMs);
      }
    },
  };
}

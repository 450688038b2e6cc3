import { setTimeout as delay } from "node:timers/promises";
import type { Directory } from "../../ingest/directory/directory.js";
import type { Connections } from "../../ingest/sessions/connections.js";
import type { SessionDownlinks } from "../../ingest/sessions/downlinks.js";
import { StoreError } from "../../store/lib/errors.js";
import {
  type CommandTarget,
  findCommandTarget,
  type TargetKey,
} from "../../store/metadata/commands/command-targets.js";
import {
  createControlLog,
  type NewControlLog,
  publishStatuses,
  type StatusChange,
} from "../../store/metadata/commands/control-logs.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { createInFlightBytes } from "./in-flight-bytes.js";
import type { Receipts } from "./receipts.js";
import { type CommandRoute, createRouting, type RoutingDeps, relayedMessage } from "./routing.js";

/** A command's content, the same for all recipients. */
export interface Command {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  /** How long it may wait, in seconds. */
  readonly ttl: number;
}

/** A message whose log is committed. */
interface Logged {
  readonly logID: number;
  readonly groupLogIntID: number | null;
}

/** Commands to devices: first the log is written, then the packet is sent, then the client's response is recorded. */
export interface Commands {
  /**
   * Sends to one device; true if the command was handed over, or waits where a kill cannot lose it. @throws StoreError
   * UNAVAILABLE if nothing can be kept for the device
   */
  publish(actor: Actor, target: CommandTarget, command: Command): Promise<boolean>;
  /** A device or gateway of the tenant. */
  target(tenant: number, key: TargetKey): Promise<CommandTarget | undefined>;
  /** Null if nobody would receive it, a policy forbids it, or it would have to be kept and nothing can be kept now. */
  routeTo(target: CommandTarget, command: Pick<Command, "topic" | "qos">): Promise<CommandRoute | null>;
  /** The log that is written before the command is sent. */
  logOf(
    target: CommandTarget,
    route: CommandRoute | null,
    group: number | null,
    command: Command,
  ): NewControlLog;
  /**
   * Sends a command that is logged as issued. Its log moves on at the acknowledgement, or when nobody holds the message
   * any more. Resolves once a kill cannot lose a message that waits for an absent client, and the log has what is known
   * of it by then; false if nobody took it.
   */
  send(route: CommandRoute, logged: Logged, command: Command): Promise<boolean>;
  /** Nobody is there any more for a command that is logged as issued. */
  giveUp(logged: Logged): void;
  /** Sends to every client of a member, without log or receipt. */
  sendToMember(target: CommandTarget, topic: string, payload: Uint8Array): boolean;
  /** Whether any client of the device is connected, or of the parent that may relay the topic to it. */
  isConnected(target: CommandTarget, topic: string): Promise<boolean>;
  /** Resolves once all of these are kept. It does not wait for a journal that takes nothing. */
  untilKept(sending: readonly Promise<unknown>[]): Promise<void>;
  /** Resolves when the tenant's clients have taken most of what they were sent, or are too slow to wait for. */
  untilTaken(tenant: number): Promise<void>;
}

interface CommandsDeps extends RoutingDeps {
  readonly db: Db;
  /** The number of a device's shard. Commands that are still open when the shard ends are settled at its next start. */
  readonly shardOf: (device: number) => number;
  readonly sessions: Pick<Connections, "has" | "sendToAll" | "waitingBytes">;
  readonly downlinks: SessionDownlinks;
  readonly receipts: Receipts;
  readonly directory: Pick<Directory, "get" | "peek" | "peekByDeviceID">;
  /** Why the journal takes nothing, or null. */
  readonly stopped: () => string | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Payload bytes sent to a tenant's clients and not confirmed; also bytes that their connections have not taken. */
const waitingBytesMax = 16 * 1024 * 1024;
const takenWaitMs = 5000;
const takenLookMs = 20;
const storedPollMs = 10;

export function createCommands(deps: CommandsDeps): Commands {
  const { db, shardOf, sessions, downlinks, directory, receipts, stopped, now } = deps;
  const { failed, issued, confirmed, noReceipt } = publishStatuses;
  const routing = createRouting(deps);
  const inFlight = createInFlightBytes(sessions.has);

  /** Why a message that waits in the journal cannot be kept, or null. */
  const refusal = (route: CommandRoute | null): string | null =>
    route?.outlives === true ? stopped() : null;

  const logOf: Commands["logOf"] = (target, route, groupLogIntID, command) => ({
    ...command,
    deviceIntID: target.id,
    groupLogIntID,
    node: shardOf(route?.to.id ?? target.id),
    qos: route?.qos ?? command.qos,
    publishStatus: route === null ? failed : issued,
  });

  const send: Commands["send"] = (route, { logID: id, groupLogIntID }, command) =>
    new Promise((resolve) => {
      const { ttl } = command;
      const { topic, payload } =
        route.relayedTo === null ? command : relayedMessage(route.relayedTo, command);
      const bytes = route.isLive ? payload.length : 0;
      const { tenant } = route.to.device;
      const confirm = inFlight.add(tenant, route.to.id, bytes);
      const message = { topic, payload, qos: route.qos, ttl, receipt: id };
      // The log must have the status before the answer reports it, unless the store is away. It is final from here on.
      const end = (publishStatus: StatusChange["publishStatus"], isDone: boolean): void => {
        receipts.add({ id, groupLogIntID, publishStatus });
        resolve(
          receipts.stored().then(
            () => isDone,
            () => isDone,
          ),
        );
      };
      const settled = (acknowledged: boolean) => {
        confirm();
        // Given up before it was kept: all queues were full, or no client accepts so large a packet.
        if (!acknowledged) end(failed, false);
        else receipts.add({ id, groupLogIntID, publishStatus: confirmed });
      };
      const sent = downlinks.send(route.to, message, settled, resolve);
      if (sent === "awaited") return;
      confirm();
      // The client has gone, or reads too slowly, since its log was written.
      end(sent === "sent" ? noReceipt : failed, sent === "sent");
    });

  return {
    target: async (tenant, key) => {
      // Another process may have changed it, and the feed not said so yet.
      if (db.shared) return findCommandTarget(db, tenant, key);
      // A connected device is always in the cache, which the change feed keeps up to date.
      const known =
        "deviceID" in key ? directory.peekByDeviceID(key.deviceID) : directory.peek(key.deviceIntID);
      if (known == null || known.device.tenant !== tenant) return findCommandTarget(db, tenant, key);
      const { id, deviceID, blocked, parent, protocol } = known.device;
      return { id, deviceID, blocked, carrier: parent, protocol };
    },
    routeTo: async (target, { topic, qos }) => {
      const route = await routing.find(target, topic, qos);
      return refusal(route) === null ? route : null;
    },
    logOf,
    send,
    giveUp: ({ logID: id, groupLogIntID }) => receipts.add({ id, groupLogIntID, publishStatus: failed }),
    publish: async (actor, target, command) => {
      const route = await routing.find(target, command.topic, command.qos);
      const reason = refusal(route);
      if (reason !== null) throw new StoreError("UNAVAILABLE", `cannot keep the command: ${reason}`);
      const logID = await createControlLog(db, actor, now(), logOf(target, route, null, command));
      return route !== null && send(route, { logID, groupLogIntID: null }, command);
    },
    isConnected: routing.isConnected,
    sendToMember: (target, topic, payload) => routing.sendToAll(target, { topic, payload }),
    untilKept: async (sending) => {
      const all = Promise.all(sending).then(() => true);
      do {
        if (await Promise.race([all, delay(storedPollMs, false)])) return;
      } while (stopped() === null);
    },
    untilTaken: async (tenant) => {
      for (let waitedMs = 0; waitedMs < takenWaitMs; waitedMs += takenLookMs) {
        const isConfirmed = inFlight.isWithin(tenant, waitingBytesMax);
        if (isConfirmed && sessions.waitingBytes(tenant) <= waitingBytesMax) return;
        await delay(takenLookMs);
      }
    },
  };
}

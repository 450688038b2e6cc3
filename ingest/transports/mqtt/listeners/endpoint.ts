import { createAdmission } from "../../../access/admission.js";
import type { ClientCertificate } from "../../../access/credentials.js";
import type { ByShard, Elsewhere } from "../../../directory/by-shard.js";
import type { DeviceEntry } from "../../../directory/entries.js";
import { addCount } from "../../../meter.js";
import { takeNothing } from "../../../uplinks/accept.js";
import { type Admissible, AdmittedSocket, type IncomingSocket } from "../../sockets/incoming-socket.js";
import type { ByteStream } from "../connection/byte-stream.js";
import { MqttConnection } from "../connection/connection.js";
import type { Attended, MqttContext, SharedContext } from "../connection/context.js";
import { createReadingTurns } from "../connection/reading.js";

/** What the connections of every listener share: one limit, one flush, one pause. */
export interface MqttEndpoint {
  /**
   * Gives a socket a place until it closes, if need be that of another; null, and the socket destroyed, if devices hold
   * all places. One that another node passes on comes from the address that the node names.
   */
  admit(socket: Admissible, relayedFrom?: string): IncomingSocket | null;
  /** Begins MQTT on a stream whose handshakes are over; with its client's certificate if one was asked for. */
  take(stream: ByteStream, incoming: IncomingSocket, certificate: ClientCertificate | null): void;
  /** To be called after each commit: hands out acknowledgements and lets waiting connections read on. */
  afterCommit(): void;
  /** Ends every connection, and every socket that was to become one. */
  close(): void;
}

type Own = "markDirty" | "markPaused" | "onClosed" | "turns" | "contextOf" | "takesNothing";
/** What all shards share. */
export type EndpointBase = Omit<SharedContext, Own>;
/** The context of one shard. */
export type EndpointContext = Omit<MqttContext, Own>;

const sweepMs = 1000;

/** @param connectionsMax sockets at once over all listeners, from their accept on */
export function createEndpoint(
  base: EndpointBase,
  shards: ByShard<EndpointContext>,
  connectionsMax: number,
): MqttEndpoint {
  const sockets = new Set<AdmittedSocket>();
  const admission = createAdmission<AdmittedSocket>(connectionsMax);
  const open = new Set<Attended>();
  const dirty = new Set<Attended>();
  const paused = new Set<Attended>();
  const turns = createReadingTurns();
  let flushPlanned = false;

  function flushDirty(): void {
    flushPlanned = false;
    for (const connection of dirty) connection.flush();
    dirty.clear();
  }

  const shared = {
    ...base,
    turns,
    contextOf: (device: DeviceEntry): Promise<MqttContext | Elsewhere> => contexts.whenPlaced(device),
    takesNothing: () => takeNothing(shards),
    markDirty: (connection: Attended) => {
      dirty.add(connection);
      // Deliveries outside a commit leave together, once the code that runs now has ended.
      if (flushPlanned) return;
      flushPlanned = true;
      queueMicrotask(flushDirty);
    },
    markPaused: (connection: Attended) => {
      paused.add(connection);
    },
    onClosed: (connection: Attended) => {
      open.delete(connection);
      dirty.delete(connection);
      paused.delete(connection);
      turns.forget(connection);
    },
  };
  const contexts = shards.map((shard): MqttContext => ({ ...shard, ...shared }));

  /** Over a copy: one that stays paused enters the set again, and a walk over the set itself would never end. */
  function resumePaused(): void {
    for (const connection of [...paused]) {
      paused.delete(connection);
      connection.resumeIfRoom();
      if (connection.isPaused) paused.add(connection);
    }
  }

  function checkSilence(wall: number, monotonic: number): void {
    for (const connection of open) connection.checkSilence(wall, monotonic);
  }

  const sweep = setInterval(() => {
    // A timer that is late because the process stood still runs before what has arrived meanwhile is read.
    setImmediate(checkSilence, base.now(), base.monotonic());
    resumePaused();
  }, sweepMs);

  return {
    admit: (socket, relayedFrom) => {
      const admitted = new AdmittedSocket(socket, admission, relayedFrom);
      if (!admission.enter(admitted)) {
        addCount(base.meter.handshakesFailed, "full");
        admitted.close();
        return null;
      }
      sockets.add(admitted);
      socket.on("close", () => {
        sockets.delete(admitted);
        admission.leave(admitted);
      });
      return admitted;
    },
    take: (stream, incoming, certificate) => {
      open.add(new MqttConnection(shared, stream, incoming, certificate));
    },
    afterCommit: () => {
      flushDirty();
      resumePaused();
    },
    close: () => {
      clearInterval(sweep);
      for (const connection of [...open]) connection.end("shutdown");
      // Those that speak MQTT close by themselves once their last bytes are out, or are cut off.
      setTimeout(() => {
        for (const admitted of sockets) admitted.close();
      }, closeGraceMs).unref();
    },
  };
}

/** Longer than a connection waits for its peer to close. */
const closeGraceMs = 1500;

import type { Socket } from "node:net";
import { createAdmission } from "../../../access/admission.js";
import type { ClientCertificate } from "../../../access/credentials.js";
import { count } from "../../../meter.js";
import type { ByteStream } from "../connection/byte-stream.js";
import { MqttConnection } from "../connection/connection.js";
import type { Attended, MqttContext } from "../connection/context.js";
import { createReadingTurns } from "../connection/reading.js";
import { Place, type Visitor } from "../connection/visitor.js";

/** What the connections of every listener share: one limit, one flush, one pause. */
export interface MqttEndpoint {
  /**
   * Gives a socket a place until it closes, that of another where there is none left; null, and the socket destroyed,
   * where all are held by devices.
   */
  admit(socket: Socket): Visitor | null;
  /** Begins MQTT on a wire whose handshakes are over; with its client's certificate where one was asked for. */
  take(wire: ByteStream, visitor: Visitor, certificate: ClientCertificate | null): void;
  /** To be called after each commit: hands out acknowledgements and lets waiting connections read on. */
  afterCommit(): void;
  /** Ends every connection, and whatever was on its way to be one. */
  close(): void;
}

export type EndpointContext = Omit<MqttContext, "markDirty" | "markPaused" | "onClosed" | "turns">;

const sweepMs = 1000;

/** @param connectionsMax sockets at once over all listeners, from their accept on */
export function createEndpoint(base: EndpointContext, connectionsMax: number): MqttEndpoint {
  const places = new Set<Place>();
  const admission = createAdmission<Place>(connectionsMax);
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

  const context: MqttContext = {
    ...base,
    turns,
    markDirty: (connection) => {
      dirty.add(connection);
      // Deliveries outside a commit leave together once what is running now has ended.
      if (flushPlanned) return;
      flushPlanned = true;
      queueMicrotask(flushDirty);
    },
    markPaused: (connection) => {
      paused.add(connection);
    },
    onClosed: (connection) => {
      open.delete(connection);
      dirty.delete(connection);
      paused.delete(connection);
      turns.forget(connection);
    },
  };

  /** Over a copy: one that stays paused enters the set again, and a walk over the set itself would never end. */
  function resumePaused(): void {
    for (const connection of [...paused]) {
      paused.delete(connection);
      connection.resumeIfRoom();
      if (connection.isPaused) paused.add(connection);
    }
  }

  const sweep = setInterval(() => {
    const [wall, monotonic] = [base.now(), base.monotonic()];
    for (const connection of open) connection.checkSilence(wall, monotonic);
    resumePaused();
  }, sweepMs);

  return {
    admit: (socket) => {
      const place = new Place(socket, admission);
      if (!admission.enter(place)) {
        count(base.meter.handshakesFailed, "full");
        place.close();
        return null;
      }
      places.add(place);
      socket.on("close", () => {
        places.delete(place);
        admission.leave(place);
      });
      return place;
    },
    take: (wire, visitor, certificate) => {
      open.add(new MqttConnection(context, wire, visitor, certificate));
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
        for (const place of places) place.close();
      }, closeGraceMs).unref();
    },
  };
}

/** Longer than a connection waits for its peer to close. */
const closeGraceMs = 1500;

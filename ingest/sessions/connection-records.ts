/** Records of connections: how they begin and end, and the wills that they leave. */
import type { Journal } from "../../store/journal/journal.js";
import type { Will } from "../../store/journal/message.js";
import type { Disconnect, JournalInput } from "../../store/journal/record.js";
import {
  encodeConnectDetails,
  encodeDisconnectDetails,
  encodeInboxDetails,
  encodeUplinkDetails,
  plainUplink,
} from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import type { DeviceEntry } from "../directory/entries.js";
import type { EndReason } from "../meter.js";
import { hashClientID, type Origin } from "../uplinks/accept.js";
import { sessionExpiryMax } from "./bounds.js";
import { toRecordSubject } from "./record-subject.js";
import type { SessionRegistry } from "./session-registry.js";
import type { DueWill, SessionState } from "./state.js";

/** What a CONNECT asks of its session. */
interface SessionRequest {
  readonly clientID: string;
  readonly cleanStart: boolean;
  /** Seconds. */
  readonly sessionExpiry: number;
  readonly keepAlive: number;
  readonly will: Will | null;
}

export interface Goodbye {
  /** Why the connection has ended, for the log. */
  readonly reason: EndReason | "killed";
  readonly orderly: boolean;
  /** A session expiry that DISCONNECT brought, seconds; null: as at CONNECT. */
  readonly sessionExpiry: number | null;
}

export interface ConnectionRecords {
  /** Returns the connection's number; `done` hands over the session. */
  connect(
    origin: Omit<Origin, "connection">,
    request: SessionRequest,
    done: (state: SessionState, present: boolean) => void,
  ): number;
  /** Opens a session for a client of this id that has not come yet. */
  openInbox(device: DeviceEntry, clientID: string): void;
  disconnect(origin: Origin, keepAlive: number, goodbye: Goodbye): void;
  /** Ends a session whose connection, if it had one, has ended; `done` is called once that is on disk. */
  endSession(of: Pick<SessionState, "tenant" | "device" | "clientID">, done: () => void): void;
  /** Closes what a killed run left open; it had ended by `killedAt`, microseconds since 1970. */
  disconnectKilled(killedAt: number): void;
  /** `refused`: by a policy; then it is an event only. */
  publishWill(due: DueWill, refused: boolean, done: () => void): void;
}

const nothing = new Uint8Array(0);

/** `onEnded` is called after a disconnect has been applied: a will may be due. */
export function createConnectionRecords(
  journal: Journal,
  registry: SessionRegistry,
  micros: () => number,
  onEnded: () => void,
): ConnectionRecords {
  /** `killedAt`: when it was, if another run held the connection. */
  function disconnected(
    of: Omit<Disconnect, "kind" | "orderly" | "reason" | "details">,
    { orderly, sessionExpiry: expiry, reason }: Goodbye,
    killedAt: number | null,
  ): void {
    const { device, connection } = of;
    const details = encodeDisconnectDetails({ expiry, endedAt: killedAt });
    const at = killedAt ?? micros();
    journal.append({ ...of, kind: recordKinds.disconnect, orderly, reason, details }, () => {
      registry.disconnect({ device, connection, at, orderly, expiry, ofEarlierRun: killedAt !== null });
      onEnded();
    });
  }

  return {
    connect: (origin, request, done) => {
      const { clientID, cleanStart, sessionExpiry, keepAlive, will } = request;
      const {
        id: device,
        device: { deviceID, tenant },
      } = origin.device;
      const session = {
        tenant,
        device,
        session: origin.session,
        ip: origin.ip,
        clientID,
        keepAlive,
        cleanStart,
      };
      const input: JournalInput = {
        ...session,
        kind: recordKinds.connect,
        details: encodeConnectDetails({ deviceID, expiry: sessionExpiry, will }),
        payload: will?.payload ?? nothing,
      };
      const at = micros();
      return journal.append(input, (connection) => {
        const { state, present } = registry.connect({
          ...session,
          deviceID,
          connection,
          at,
          expiry: sessionExpiry,
          will,
        });
        // A will may be due: the session before this one may have left it.
        onEnded();
        done(state, present);
      });
    },
    openInbox: ({ id: device, device: { tenant, deviceID } }, clientID) => {
      const subject = { tenant, device, clientID, session: hashClientID(clientID) };
      const expiry = sessionExpiryMax;
      const details = encodeInboxDetails({ deviceID, expiry });
      const at = micros();
      journal.append({ ...subject, kind: recordKinds.inbox, ip: "", details }, () =>
        registry.openInbox({ ...subject, deviceID, at, expiry }),
      );
    },
    disconnect: (origin, keepAlive, goodbye) =>
      disconnected({ ...toRecordSubject(origin), keepAlive }, goodbye, null),
    endSession: ({ tenant, device, clientID }, done) => {
      const subject = { tenant, device, clientID, session: hashClientID(clientID) };
      const at = micros();
      journal.append({ ...subject, kind: recordKinds.sessionEnd, ip: "" }, () => {
        registry.endSession({ ...subject, at });
        onEnded();
        done();
      });
    },
    disconnectKilled: (killedAt) => {
      for (const { tenant, device, sessions } of registry.all()) {
        for (const { connection, session, ip, keepAlive } of sessions.values()) {
          if (connection === 0) continue;
          const killed: Goodbye = { reason: "killed", orderly: false, sessionExpiry: null };
          disconnected({ tenant, device, connection, session, ip, keepAlive }, killed, killedAt);
        }
      }
    },
    publishWill: ({ tenant, device, session, connection, ip, will }, refused, done) => {
      const { topic, payload, qos, retain, properties } = will;
      const input: JournalInput = {
        kind: recordKinds.uplink,
        tenant,
        device,
        connection,
        session,
        ip,
        messageID: 0,
        qos,
        dup: false,
        retain,
        refused,
        topic,
        details: encodeUplinkDetails({ ...plainUplink, properties, isWill: true }),
        payload,
      };
      const at = micros();
      journal.append(input, () => {
        if (!refused) registry.publish({ device, session, topic, payload, qos, retain, properties, at });
        registry.willPublished(device, connection);
        done();
      });
    },
  };
}

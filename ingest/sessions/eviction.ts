/**
 * Ends sessions and retained messages: when their time is over, when others need the place, or with the device.
 */
import { createSlice } from "../../store/lib/scheduling.js";
import { addCount, type Meter } from "../meter.js";
import { sessionsPerDeviceMax } from "./bounds.js";
import type { Changes } from "./changes.js";
import type { MessageQueues } from "./message-queues.js";
import type { PendingWills } from "./pending-wills.js";
import { type DeviceSessions, expiresAt, isExpired, type SessionState } from "./state.js";

interface SessionEviction {
  /** The session is over, with all that it holds. */
  drop(deviceSessions: DeviceSessions, state: SessionState): void;
  /**
   * For one more session: the expired ones go, and if that is not enough the one whose client has been away longest.
   */
  makeRoom(deviceSessions: DeviceSessions, atMicros: number): void;
  forgetIfEmpty(deviceSessions: DeviceSessions): void;
  /** Drops all sessions and retained messages whose time is over. */
  expire(nowMicros: number): Promise<void>;
  /** The device is gone. */
  forget(device: number): void;
}

interface EvictionDeps {
  readonly changes: Changes;
  readonly meter: Meter;
  readonly queues: MessageQueues;
  readonly wills: PendingWills;
}

const noPayload = new Uint8Array(0);

export function createSessionEviction(
  registry: Map<number, DeviceSessions>,
  { changes, meter, queues, wills }: EvictionDeps,
): SessionEviction {
  function drop(deviceSessions: DeviceSessions, state: SessionState): void {
    deviceSessions.sessions.delete(state.clientID);
    changes.session(state);
    queues.giveUp(state);
  }

  function dropExpired(deviceSessions: DeviceSessions, atMicros: number): void {
    for (const state of deviceSessions.sessions.values())
      if (expiresAt(state) <= atMicros) drop(deviceSessions, state);
  }

  function dropExpiredRetained(deviceSessions: DeviceSessions, nowMicros: number): void {
    const { device } = deviceSessions;
    for (const [topic, retained] of deviceSessions.retained) {
      if (!isExpired(retained, nowMicros)) continue;
      queues.retain(deviceSessions, {
        ...retained,
        device,
        session: -1,
        topic,
        retain: true,
        payload: noPayload,
      });
    }
  }

  function forgetIfEmpty({ device, sessions, retained, wills: left }: DeviceSessions): void {
    if (sessions.size === 0 && retained.size === 0 && left.length === 0) registry.delete(device);
  }

  return {
    drop,
    makeRoom: (deviceSessions, atMicros) => {
      if (deviceSessions.sessions.size < sessionsPerDeviceMax) return;
      // By the record's time: it must make no difference whether they were swept away before.
      dropExpired(deviceSessions, atMicros);
      if (deviceSessions.sessions.size < sessionsPerDeviceMax) return;
      const longest = longestAway(deviceSessions);
      if (longest === undefined) return;
      addCount(meter.dropped, "session_room");
      drop(deviceSessions, longest);
    },
    forgetIfEmpty,
    expire: async (nowMicros) => {
      const slice = createSlice();
      for (const deviceSessions of registry.values()) {
        if (slice.isOver()) await slice.next();
        dropExpired(deviceSessions, nowMicros);
        dropExpiredRetained(deviceSessions, nowMicros);
        forgetIfEmpty(deviceSessions);
      }
    },
    forget: (device) => {
      const deviceSessions = registry.get(device);
      if (deviceSessions === undefined) return;
      for (const state of [...deviceSessions.sessions.values()]) drop(deviceSessions, state);
      wills.giveUp(deviceSessions);
      queues.giveUpRetained(deviceSessions);
      registry.delete(device);
    },
  };
}

/** The session whose client has been away longest. */
function longestAway(deviceSessions: DeviceSessions): SessionState | undefined {
  const away = [...deviceSessions.sessions.values()].filter(({ connection }) => connection === 0);
  return away.reduce<SessionState | undefined>(
    (found, one) => (found === undefined || one.endedAt < found.endedAt ? one : found),
    undefined,
  );
}

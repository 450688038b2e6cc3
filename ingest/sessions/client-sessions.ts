/** The sessions of a device as a person sees them, and how one of them is ended. */
import type { ByShard } from "../directory/by-shard.js";
import type { Connections, Protocol } from "./connections.js";
import { httpClientID } from "./inboxes.js";
import type { SessionRecords } from "./records.js";
import type { SessionRegistry } from "./session-registry.js";
import { expiresAt, type SessionState } from "./state.js";

export interface ClientSession {
  readonly clientID: string;
  /** Null while its client is away, unless it is the one of HTTP. */
  readonly protocol: Protocol | null;
  readonly isConnected: boolean;
  /** Address of the present or last connection; null: its client has never come. */
  readonly ip: string | null;
  /** Milliseconds since 1970; null while it is away. */
  readonly connectedAt: number | null;
  /** Seconds, of the connection or the last one. */
  readonly keepAlive: number;
  /** Seconds that it outlives its connection. */
  readonly sessionExpiry: number;
  /** Filters, without the inbox that each session has. */
  readonly subscriptionCount: number;
  /** Messages of QoS 1 and 2 that are not settled, and their bytes. */
  readonly queuedMessages: number;
  readonly queuedBytes: number;
  /** How many of these were sent to the connected client. */
  readonly inflight: number;
}

interface Owner {
  readonly tenant: number;
  readonly device: number;
}

export interface ClientSessions {
  /** Lists the sessions in this process; the connected ones first, then by client id. */
  of(device: number): ClientSession[];
  /**
   * Ends connections and sessions with all that waits in them, once that is on disk. Where one of them is not there,
   * nothing is ended: its client id is returned. Unavailable: nothing can be kept now.
   */
  end(
    of: Owner,
    clientIDs: readonly string[],
  ): Promise<"kept" | "unavailable" | { readonly unknown: string }>;
}

interface ClientSessionsDeps {
  readonly registry: Pick<SessionRegistry, "get">;
  readonly connections: Pick<Connections, "find">;
  readonly records: Pick<SessionRecords, "endSession">;
  /** Why nothing can be kept now, or null. */
  readonly stopped: () => string | null;
  untilKept(append: (done: () => void) => void): Promise<"kept" | "unavailable">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const endedByPerson = "a person has ended the session";

export function createClientSessions(deps: ClientSessionsDeps): ClientSessions {
  const { registry, connections, records, now } = deps;

  function present(device: number): SessionState[] {
    const at = now() * 1000;
    return [...(registry.get(device)?.sessions.values() ?? [])].filter((state) => expiresAt(state) > at);
  }

  function shown(state: SessionState): ClientSession {
    const { device, clientID, keepAlive, expiry, subscriptions, outgoing, outgoingBytes } = state;
    const connection = state.link === null ? undefined : connections.find(device, clientID);
    return {
      clientID,
      protocol: connection?.protocol ?? (clientID === httpClientID ? "http" : null),
      isConnected: connection !== undefined,
      ip: state.ip === "" ? null : state.ip,
      connectedAt: connection?.openedAt ?? null,
      keepAlive,
      sessionExpiry: expiry,
      subscriptionCount: subscriptions.size,
      queuedMessages: outgoing.size,
      queuedBytes: outgoingBytes,
      inflight: connection === undefined ? 0 : handedOut(state),
    };
  }

  return {
    of: (device) =>
      present(device)
        .map(shown)
        .sort((a, b) => Number(b.isConnected) - Number(a.isConnected) || (a.clientID < b.clientID ? -1 : 1)),
    end: async (of, clientIDs) => {
      const there = new Set(present(of.device).map(({ clientID }) => clientID));
      const isThere = (clientID: string): boolean =>
        there.has(clientID) || connections.find(of.device, clientID) !== undefined;
      const unknown = clientIDs.find((clientID) => !isThere(clientID));
      if (unknown !== undefined) return { unknown };
      if (deps.stopped() !== null) return "unavailable";
      return deps.untilKept((done) => {
        // In one turn, so that all of it is on record or nothing of it.
        for (const [i, clientID] of clientIDs.entries()) {
          connections.find(of.device, clientID)?.end("thrown_out", endedByPerson);
          records.endSession({ ...of, clientID }, i === clientIDs.length - 1 ? done : () => undefined);
        }
      });
    },
  };
}

function handedOut({ outgoing }: SessionState): number {
  let count = 0;
  for (const { sent } of outgoing.values()) if (sent) count++;
  return count;
}

/** Joins the sessions of all shards of the process: a device has its sessions in one of them. */
export function sessionsOfShards(shards: Pick<ByShard<ClientSessions>, "all">): ClientSessions {
  return {
    of: (device) => shards.all.flatMap((one) => one.of(device)),
    end: async (of, clientIDs) => {
      const found = shards.all.find((one) => one.of(of.device).length > 0) ?? shards.all[0];
      return found === undefined ? "unavailable" : found.end(of, clientIDs);
    },
  };
}

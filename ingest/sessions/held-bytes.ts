import { createShares } from "../../store/lib/shares.js";
import type { DeviceSessions, SessionState } from "./state.js";
import { unreleasedBytes, weightOfFilter, weightOfPlatform, weightOfWill } from "./weights.js";

/**
 * The bytes that are held for clients, in one bound that tenants share: messages that wait, retained messages, wills,
 * and what sessions themselves take beyond what each may have anyway. Whatever is taken is given back once.
 */
export interface HeldBytes {
  /** Counts what loaded sessions of a device hold. */
  takeUp(deviceSessions: DeviceSessions): void;
  /** The opposite, for sessions that go on in another process: nothing of theirs counts any more. */
  letGo(deviceSessions: DeviceSessions): void;
  /** Takes them for a message; false if the tenant's share is used up. */
  take(tenant: number, bytes: number): boolean;
  /** For what is on record already; the budget was checked before. */
  force(tenant: number, bytes: number): void;
  give(tenant: number, bytes: number): void;
  /** What the session itself takes has grown, or shrunk. */
  grow(state: SessionState, bytes: number): void;
  /** Whether so many more would be taken now. */
  hasRoom(tenant: number, bytes: number): boolean;
  /** The same for a session of the tenant, which takes `ownBytes`. */
  mayGrow(tenant: number, ownBytes: number, bytes: number): boolean;
  /** The session is over; nothing counts for it any more. */
  end(state: SessionState): void;
  of(tenant: number): number;
  readonly total: number;
}

/**
 * What a session has free for subscriptions, will and packet ids: the bound is not for fleets that ask for little.
 */
export const ownBytesFree = 4096;

const counted = (ownBytes: number): number => Math.max(0, ownBytes - ownBytesFree);

export function createHeldBytes(bytesMax: number): HeldBytes {
  const shares = createShares<number>(bytesMax);

  function hasRoom(tenant: number, bytes: number): boolean {
    if (bytes === 0) return true;
    if (!shares.take(tenant, bytes)) return false;
    shares.give(tenant, bytes);
    return true;
  }

  function end(state: SessionState): void {
    if (state.isOver) return;
    shares.give(state.tenant, state.outgoingBytes + counted(state.ownBytes));
    state.isOver = true;
  }

  return {
    takeUp: ({ tenant, sessions, retainedBytes, wills }) => {
      shares.force(tenant, retainedBytes);
      for (const { will } of wills) shares.force(tenant, weightOfWill(will));
      for (const { outgoingBytes, ownBytes } of sessions.values()) {
        shares.force(tenant, outgoingBytes + counted(ownBytes));
      }
    },
    letGo: ({ tenant, sessions, retainedBytes, wills }) => {
      shares.give(tenant, retainedBytes);
      for (const { will } of wills) shares.give(tenant, weightOfWill(will));
      for (const state of sessions.values()) end(state);
    },
    take: shares.take,
    force: shares.force,
    give: shares.give,
    grow: (state, bytes) => {
      if (state.isOver) return;
      const before = counted(state.ownBytes);
      state.ownBytes += bytes;
      const grown = counted(state.ownBytes) - before;
      if (grown > 0) shares.force(state.tenant, grown);
      else if (grown < 0) shares.give(state.tenant, -grown);
    },
    hasRoom,
    mayGrow: (tenant, ownBytes, bytes) => hasRoom(tenant, counted(ownBytes + bytes) - counted(ownBytes)),
    end,
    of: shares.held,
    get total() {
      return shares.total;
    },
  };
}

/** What a session itself takes: of a loaded one, and to compare with. */
export function countOwnBytes({ subscriptions, platform, unreleased, will }: OwnPart): number {
  let bytes = weightOfWill(will) + weightOfPlatform(platform) + unreleased.size * unreleasedBytes;
  for (const filter of subscriptions.keys()) bytes += weightOfFilter(filter);
  return bytes;
}

type OwnPart = Pick<SessionState, "subscriptions" | "platform" | "unreleased" | "will">;

/**
 * Counts of each second of the last ten minutes: of each tenant, and of all. A message costs a few additions in arrays;
 * the slots are cleared as the seconds of the monotonic clock pass, so setting the clock changes nothing.
 */
import type { Reason } from "./decode/reasons.js";

/** The number of whole seconds that the rates cover. */
export const rateSeconds = 600;
/** Tenants that are counted apart; further ones only among all, until one of these has been silent for as long. */
const ratedTenantsMax = 4096;

/** Why a value or a message of a known device was refused. */
type RefusedReason =
  | Reason
  | "topic"
  | "oversize"
  | "policy"
  | "blocked" // by the external broker, as the next
  | "rate";

export interface Rates {
  /** An uplink was taken. */
  message(tenant: number): void;
  /** Points of the tenant can be read. */
  points(tenant: number, by: number): void;
  refused(tenant: number, reason: RefusedReason, by: number): void;
  /** To be called each second; whatever is counted late counts for the second of the last call. */
  tick(): void;
  /** Null: the tenant is one of those that are not counted apart. */
  of(tenant: number): Rated | null;
  all(): Rated;
  /** Milliseconds since the end of the last whole second. */
  readonly sinceWholeSecondMs: number;
}

/** Oldest first, of whole seconds. */
export interface Rated {
  readonly messages: readonly number[];
  readonly points: readonly number[];
  /** Refusals of the last ten minutes to within ten seconds, most frequent first. */
  readonly refused: readonly { readonly reason: RefusedReason; readonly count: number }[];
}

/** The present second has a slot too. */
const slots = rateSeconds + 1;
/** Reasons are counted by ten seconds: there may be thirty of them. */
const windowSeconds = 10;
const windows = rateSeconds / windowSeconds;

class Counts {
  readonly messages = new Uint32Array(slots);
  readonly points = new Uint32Array(slots);
  readonly refused = new Map<RefusedReason, Uint32Array>();
  /** The second in which it was counted last. */
  last = 0;

  /** Empties the slots of the seconds after `from`, up to `to`. */
  clear(from: number, to: number): void {
    clearRing(this.messages, from, to);
    clearRing(this.points, from, to);
    const [first, last] = [Math.floor(from / windowSeconds), Math.floor(to / windowSeconds)];
    if (first === last) return;
    for (const ring of this.refused.values()) clearRing(ring, first, last);
  }

  rated(second: number): Rated {
    const refused = [...this.refused].map(([reason, ring]) => ({
      reason,
      count: ring.reduce((sum, n) => sum + n, 0),
    }));
    return {
      messages: before(this.messages, second),
      points: before(this.points, second),
      refused: refused
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
    };
  }
}

function clearRing(ring: Uint32Array, from: number, to: number): void {
  if (to - from >= ring.length) ring.fill(0);
  else for (let at = from + 1; at <= to; at++) ring[at % ring.length] = 0;
}

/** The seconds before the present one. */
function before(ring: Uint32Array, second: number): number[] {
  return Array.from({ length: rateSeconds }, (_, i) => ring[(second + slots - rateSeconds + i) % slots] ?? 0);
}

function add(ring: Uint32Array, slot: number, by: number): void {
  ring[slot] = (ring[slot] ?? 0) + by;
}

/** `monotonic`: milliseconds, never set. */
export function createRates(monotonic: () => number, tenantsMax = ratedTenantsMax): Rates {
  const begunAt = monotonic();
  const all = new Counts();
  const byTenant = new Map<number, Counts>();
  let second = 0;
  let slot = 0;
  /** Messages come in bursts of one tenant. */
  let lastTenant = -1;
  let lastCounts: Counts | null = null;

  function findCounts(tenant: number): Counts | null {
    if (tenant !== lastTenant) {
      lastTenant = tenant;
      lastCounts = byTenant.get(tenant) ?? null;
      if (lastCounts === null && byTenant.size < tenantsMax) {
        lastCounts = new Counts();
        byTenant.set(tenant, lastCounts);
      }
    }
    if (lastCounts !== null) lastCounts.last = second;
    return lastCounts;
  }

  function tick(): void {
    const now = Math.floor((monotonic() - begunAt) / 1000);
    if (now === second) return;
    all.clear(second, now);
    for (const [tenant, counts] of byTenant) {
      if (now - counts.last > rateSeconds) byTenant.delete(tenant);
      else counts.clear(second, now);
    }
    second = now;
    slot = now % slots;
    // One that had no place may have one now.
    lastTenant = -1;
  }

  function refuse(counts: Counts, reason: RefusedReason, by: number): void {
    let ring = counts.refused.get(reason);
    if (ring === undefined) {
      ring = new Uint32Array(windows);
      counts.refused.set(reason, ring);
    }
    add(ring, Math.floor(second / windowSeconds) % windows, by);
  }

  return {
    message: (tenant) => {
      const counts = findCounts(tenant);
      if (counts !== null) add(counts.messages, slot, 1);
      add(all.messages, slot, 1);
    },
    points: (tenant, by) => {
      const counts = findCounts(tenant);
      if (counts !== null) add(counts.points, slot, by);
      add(all.points, slot, by);
    },
    refused: (tenant, reason, by) => {
      const counts = findCounts(tenant);
      if (counts !== null) refuse(counts, reason, by);
      refuse(all, reason, by);
    },
    tick,
    of: (tenant) => {
      tick();
      const counts = byTenant.get(tenant);
      if (counts !== undefined) return counts.rated(second);
      return byTenant.size < tenantsMax ? new Counts().rated(second) : null;
    },
    all: () => {
      tick();
      return all.rated(second);
    },
    get sinceWholeSecondMs() {
      return (monotonic() - begunAt) % 1000;
    },
  };
}

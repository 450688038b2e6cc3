import { createShares } from "../../store/lib/shares.js";
import { addressBlock } from "./address-block.js";

/**
 * Decides who holds one of a bounded number of connections. Nobody is refused while places are free. After that, a new
 * connection displaces the oldest one from the address with the most connections, among those that are not
 * authenticated: a flood from a few addresses displaces itself, and many clients behind one address (a proxy, a
 * NAT) are not bounded while nobody else waits. Connections of callers are safe from that, up to a tenant's share of
 * the places; beyond it they give way until a sixteenth of the places is left for unauthenticated connections; those of
 * the tenant with the most of them give way first.
 *
 * The longest queue gives way first: Suter, Lakshman, Stiliadis and Choudhury, "Buffer management schemes for
 * supporting TCP in gigabit routers with per-flow queueing", IEEE JSAC 17(6), 1999.
 */
export interface Admission<Guest extends Admitted> {
  /** False if callers hold every place. */
  enter(guest: Guest): boolean;
  /** The guest has authenticated as a caller of this tenant; a second call changes nothing. */
  prove(guest: Guest, tenant: number): void;
  /** It has turned out to come from this address (canonical): from now on it counts for that one. */
  move(guest: Guest, address: string): void;
  leave(guest: Guest): void;
  /** Open connections, and how many of them nobody displaces. */
  readonly counts: { readonly open: number; readonly proven: number };
}

export interface Admitted {
  /** The peer's address, canonical; empty for a socket that is gone already. Written by `move` alone. */
  address: string;
  /** Nothing is under way on it: idle ones give way first. */
  readonly isIdle: boolean;
  /** Ends it: another takes its place. It has left when this is called. */
  giveWay(): void;
}

/** How many connections of an address are looked at in the search for an idle one. */
const looksMax = 16;

/** @param max places, 1 or more */
export function createAdmission<Guest extends Admitted>(max: number): Admission<Guest> {
  const unauthenticated = createCrowds<string, Guest>();
  const proven = new Map<Guest, number>();
  const tenants = createShares<number>(max);
  /** Callers beyond their tenant's share, by tenant. */
  const beyond = createCrowds<number, Guest>();
  const reservedBeyond = new Map<Guest, number>();

  /**
   * The places that unauthenticated connections may take from callers beyond their share. With fewer, a flood would
   * displace clients that connect at the same time.
   */
  const reserve = Math.max(1, max >> 4);

  const open = (): number => unauthenticated.size + proven.size + beyond.size;

  function removeUnauthenticated(guest: Guest): boolean {
    return unauthenticated.remove(guest, addressBlock(guest.address));
  }

  function removeBeyond(guest: Guest): boolean {
    const tenant = reservedBeyond.get(guest);
    return tenant !== undefined && reservedBeyond.delete(guest) && beyond.remove(guest, tenant);
  }

  function victim(): Guest | null {
    const crowd = unauthenticated.largest();
    if (crowd !== undefined && (beyond.size === 0 || unauthenticated.size >= reserve))
      return firstIdle(crowd);
    for (let callers = beyond.largest(); callers !== undefined; callers = beyond.largest()) {
      const guest = firstIdle(callers);
      const tenant = reservedBeyond.get(guest);
      if (tenant === undefined || !tenants.take(tenant, 1)) return guest;
      // Other connections of its tenant have closed since.
      removeBeyond(guest);
      proven.set(guest, tenant);
    }
    return crowd === undefined ? null : firstIdle(crowd);
  }

  function evictGuest(): boolean {
    const guest = victim();
    if (guest === null) return false;
    if (!removeBeyond(guest)) removeUnauthenticated(guest);
    guest.giveWay();
    return true;
  }

  return {
    enter: (guest) => {
      if (open() >= max && !evictGuest()) return false;
      unauthenticated.add(guest, addressBlock(guest.address));
      return true;
    },
    prove: (guest, tenant) => {
      if (proven.has(guest)) return;
      // A connection that has given way in between is no longer counted.
      if (!removeBeyond(guest) && !removeUnauthenticated(guest)) return;
      if (tenants.take(tenant, 1)) proven.set(guest, tenant);
      else {
        reservedBeyond.set(guest, tenant);
        beyond.add(guest, tenant);
      }
    },
    move: (guest, address) => {
      const moves = removeUnauthenticated(guest);
      guest.address = address;
      if (moves) unauthenticated.add(guest, addressBlock(address));
    },
    leave: (guest) => {
      const tenant = proven.get(guest);
      if (tenant === undefined) {
        if (!removeBeyond(guest)) removeUnauthenticated(guest);
      } else if (proven.delete(guest)) tenants.give(tenant, 1);
    },
    get counts() {
      return { open: open(), proven: proven.size };
    },
  };
}

/** The first of those that are idle; if none of the first few is, the very first. */
function firstIdle<Guest extends Admitted>(crowd: ReadonlySet<Guest>): Guest {
  const [first] = crowd;
  let looks = 0;
  for (const guest of crowd) {
    if (guest.isIdle) return guest;
    if (++looks === looksMax) break;
  }
  return first as Guest;
}

/** Guests by what they have in common, and at any time the largest crowd of them; each step takes constant time. */
function createCrowds<Name, Guest>() {
  const crowds = new Map<Name, Set<Guest>>();
  /** By size: the names of the crowds that have it. */
  const bySize: Set<Name>[] = [];
  let size = 0;

  function resize(name: Name, from: number, to: number): void {
    bySize[from]?.delete(name);
    bySize[to] ??= new Set();
    bySize[to].add(name);
    while (bySize.length > 1 && bySize.at(-1)?.size === 0) bySize.pop();
  }

  return {
    get size() {
      return size;
    },
    add: (guest: Guest, name: Name): void => {
      const crowd = crowds.get(name) ?? new Set();
      crowds.set(name, crowd);
      crowd.add(guest);
      size++;
      resize(name, crowd.size - 1, crowd.size);
    },
    remove: (guest: Guest, name: Name): boolean => {
      const crowd = crowds.get(name);
      if (crowd?.delete(guest) !== true) return false;
      size--;
      resize(name, crowd.size + 1, crowd.size);
      if (crowd.size === 0) {
        crowds.delete(name);
        bySize[0]?.delete(name);
      }
      return true;
    },
    largest: (): ReadonlySet<Guest> | undefined => {
      const [name] = bySize.at(-1) ?? [];
      return name === undefined ? undefined : crowds.get(name);
    },
  };
}

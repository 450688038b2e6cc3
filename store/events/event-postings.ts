import type { RecordPeek } from "../journal/frame.js";
import { recordKinds } from "../journal/record-kinds.js";

/** The logs that the journal serves: uplink messages, connections coming and going or refused, and batches. */
export const logs = { events: 1, connects: 2, denials: 3, batches: 4 } as const;
export type Log = (typeof logs)[keyof typeof logs];

const logsOfKinds: Readonly<Record<number, Log | undefined>> = {
  [recordKinds.uplink]: logs.events,
  [recordKinds.entry]: logs.events,
  [recordKinds.connect]: logs.connects,
  [recordKinds.disconnect]: logs.connects,
  [recordKinds.denial]: logs.denials,
  [recordKinds.batch]: logs.batches,
};

/** More than any log's number. */
const logsMax = 8;

/** Which log a record kind belongs to; a release belongs to none. */
function findLog(kind: number): Log | null {
  return logsOfKinds[kind] ?? null;
}

/** Offsets of one owner's records in one segment, ascending. */
export interface Posting {
  readonly owner: number;
  readonly log: Log;
  readonly count: number;
  readonly offsets: Uint32Array;
}

const none = 0xffff_ffff;

/**
 * Finds the records of a device or a tenant in one segment. The records of an owner are chained backwards through
 * arrays, so that adding one costs a few stores and no allocation.
 */
export interface SegmentIndex {
  add(offset: number, record: RecordPeek): void;
  /** Times of receipt of the segment's records in any log; null while there are none. */
  readonly received: ReceivedTimes | null;
  /** The offsets of an owner's records, newest first: `count` of them after the first `skip`, every `step`th. */
  ofDevice(log: Log, device: number, skip: number, count: number, step: number): number[];
  ofTenant(log: Log, tenant: number, skip: number, count: number, step: number): number[];
  countOfDevice(log: Log, device: number): number;
  countOfTenant(log: Log, tenant: number): number;
  /** All postings, for the index file. */
  devices(): Posting[];
  tenants(): Posting[];
}

/** Times of receipt, microseconds since 1970, in any order where the clock was set. */
export interface ReceivedTimes {
  readonly oldest: number;
  readonly newest: number;
  /** By how much, at most, a record was received before an earlier one; null where the index does not say. */
  readonly disorder: number | null;
}

interface Chain {
  last: number;
  count: number;
}

export function createSegmentIndex(): SegmentIndex {
  let offsets = new Uint32Array(1024);
  let beforeOfDevice = new Uint32Array(1024);
  let beforeOfTenant = new Uint32Array(1024);
  let records = 0;
  let oldest = Number.POSITIVE_INFINITY;
  let newest = Number.NEGATIVE_INFINITY;
  let disorder = 0;
  const devices = new Map<number, Chain>();
  const tenants = new Map<number, Chain>();
  // Record ids are far below 2^50, so log and owner fit one number.
  const key = (log: Log, owner: number) => owner * logsMax + log;

  function grow(): void {
    const widen = (old: Uint32Array) => {
      const wide = new Uint32Array(old.length * 2);
      wide.set(old);
      return wide;
    };
    offsets = widen(offsets);
    beforeOfDevice = widen(beforeOfDevice);
    beforeOfTenant = widen(beforeOfTenant);
  }

  function link(chains: Map<number, Chain>, owner: number, before: Uint32Array): void {
    const chain = chains.get(owner);
    before[records] = chain?.last ?? none;
    if (chain === undefined) {
      chains.set(owner, { last: records, count: 1 });
    } else {
      chain.last = records;
      chain.count++;
    }
  }

  function walk(
    chain: Chain | undefined,
    before: Uint32Array,
    skip: number,
    count: number,
    step: number,
  ): number[] {
    const found: number[] = [];
    let record = chain?.last ?? none;
    for (let seen = 0; record !== none && found.length < count; seen++) {
      if (seen >= skip && (seen - skip) % step === 0) found.push(offsets[record] as number);
      record = before[record] as number;
    }
    return found;
  }

  const postings = (chains: Map<number, Chain>, before: Uint32Array): Posting[] =>
    [...chains].map(([owner, chain]) => ({
      owner: Math.floor(owner / logsMax),
      log: (owner % logsMax) as Log,
      count: chain.count,
      offsets: Uint32Array.from(walk(chain, before, 0, chain.count, 1)).reverse(),
    }));

  return {
    add: (offset, { kind, device, tenant, receivedAt }) => {
      const log = findLog(kind);
      if (log === null) return;
      oldest = Math.min(oldest, receivedAt);
      newest = Math.max(newest, receivedAt);
      disorder = Math.max(disorder, newest - receivedAt);
      if (records === offsets.length) grow();
      offsets[records] = offset;
      link(devices, key(log, device), beforeOfDevice);
      link(tenants, key(log, tenant), beforeOfTenant);
      records++;
    },
    get received() {
      return records === 0 ? null : { oldest, newest, disorder };
    },
    ofDevice: (log, device, skip, count, step) =>
      walk(devices.get(key(log, device)), beforeOfDevice, skip, count, step),
    ofTenant: (log, tenant, skip, count, step) =>
      walk(tenants.get(key(log, tenant)), beforeOfTenant, skip, count, step),
    countOfDevice: (log, device) => devices.get(key(log, device))?.count ?? 0,
    countOfTenant: (log, tenant) => tenants.get(key(log, tenant))?.count ?? 0,
    devices: () => postings(devices, beforeOfDevice),
    tenants: () => postings(tenants, beforeOfTenant),
  };
}

/** A device's shard is that of the topmost device above it, so that gateways and what they carry are together. */
import type { Directory } from "./directory.js";
import type { DeviceEntry } from "./entries.js";
import { createShardWaits, type ShardWaits } from "./shard-waits.js";

/** Gateways and parent devices between a device and the one above all. */
const depthMax = 32;

/** The place of a shard that this process does not have. */
export class Elsewhere {
  /** @param node the number of the process that has the shard of that number; null: none, or it is on its way */
  constructor(
    readonly node: number | null,
    readonly shard: number,
  ) {}
}

/** Where all shards are now, by their numbers. */
export interface ShardPlaces {
  /** Those that are here for certain. */
  readonly here: readonly number[];
  /** By the number of the process that has them. */
  readonly elsewhere: ReadonlyMap<number, readonly number[]>;
  /** Nobody has them, they are on their way, or it is not known who has them. */
  readonly nowhere: readonly number[];
}

/** Something of each shard that this process has, found by device. Shards may come and go. */
export interface ByShard<T> {
  /** One element for each shard that is here now. */
  readonly all: readonly T[];
  /** There is no other shard, here or elsewhere, and this one stays. */
  readonly isSingle: boolean;
  of(device: DeviceEntry): Promise<T | Elsewhere>;
  /** Like `of`; but if no process has the shard, it waits until one has it, or for a while. */
  whenPlaced(device: DeviceEntry): Promise<T | Elsewhere>;
  /** Resolves once somebody has the shard of this number, or after a while. */
  untilPlaced(shard: number): Promise<void>;
  /** Like `of`, but synchronous; null if the devices above it are not in memory. */
  peek(device: DeviceEntry): T | Elsewhere | null;
  /** `of` is called once for each shard: for those that are here now, and as soon as one comes. */
  map<U>(of: (one: T) => U): ByShard<U>;
  /** Does something for each shard: for those that are here now, and as soon as one comes. */
  each(action: (one: T) => void): void;
  places(): ShardPlaces;
}

/** A `ByShard` for the code that opens and closes shards. */
export interface OpenShards<T> extends ByShard<T>, Pick<ShardWaits, "look"> {
  /** The shard of that number is here from now on. */
  add(shard: number, one: T): void;
  /** The shard is no longer here: for its devices, `of` and `peek` return an `Elsewhere` from now on. */
  remove(shard: number): void;
  /** Nobody waits for a shard any more. */
  endWaits(): void;
}

/** Facts about the processes that share the shards. */
export interface ShardHolders {
  /** The other process that has the shard; null: none. */
  of(shard: number): number | null;
  /** Whether that is known of late: if not, others may have taken what is here. */
  areKnown(): boolean;
}

interface Sharing {
  /** The numbers of all shards, here or elsewhere, in an order that every process has. */
  readonly numbers: readonly number[];
  readonly holders: ShardHolders;
  readonly directory: Pick<Directory, "get" | "peek">;
}

/** None is here yet. */
export function openShards<T>({ numbers, holders, directory }: Sharing): OpenShards<T> {
  const shardNumber = (topmost: number): number => numbers[topmost % numbers.length] ?? 0;
  /** A single shard has all devices: nobody needs to be asked. */
  const [only] = numbers.length === 1 ? numbers : [];

  async function find(device: DeviceEntry): Promise<number> {
    if (only !== undefined) return only;
    let top = device;
    for (let depth = 0; top.device.parent !== null && depth < depthMax; depth++) {
      const above = await directory.get(top.device.parent);
      if (above === undefined) break;
      top = above;
    }
    return shardNumber(top.id);
  }

  function peek(device: DeviceEntry): number | null {
    if (only !== undefined) return only;
    let top = device;
    for (let depth = 0; top.device.parent !== null && depth < depthMax; depth++) {
      const above = directory.peek(top.device.parent);
      if (above === undefined) return null;
      top = above;
    }
    return shardNumber(top.id);
  }

  const here = new Map<number, T>();
  const waits = createShardWaits({ isPlaced: (shard) => here.has(shard) || holders.of(shard) !== null });

  function places(): ShardPlaces {
    const own: number[] = [];
    const elsewhere = new Map<number, number[]>();
    const nowhere: number[] = [];
    const isCertain = holders.areKnown();
    for (const shard of numbers) {
      const holder = holders.of(shard);
      if (holder !== null) elsewhere.set(holder, [...(elsewhere.get(holder) ?? []), shard]);
      else (here.has(shard) && isCertain ? own : nowhere).push(shard);
    }
    return { here: own, elsewhere, nowhere };
  }

  const opening = opened<T>(here, { isSingle: only !== undefined, find, peek, holders, waits, places });
  return {
    ...opening,
    // A spread would freeze it.
    get all() {
      return opening.all;
    },
    add: (shard, one) => {
      opening.add(shard, one);
      waits.look();
    },
    look: waits.look,
    endWaits: waits.end,
  };
}

interface Finding extends Pick<ByShard<unknown>, "isSingle" | "places"> {
  /** The number of a device's shard. */
  readonly find: (device: DeviceEntry) => Promise<number>;
  readonly peek: (device: DeviceEntry) => number | null;
  readonly holders: ShardHolders;
  readonly waits: Pick<ShardWaits, "untilPlaced">;
}

function opened<T>(
  here: Map<number, T>,
  finding: Finding,
): ByShard<T> & Pick<OpenShards<T>, "add" | "remove"> {
  const { isSingle, find, peek, holders, waits, places } = finding;
  let all: readonly T[] = [];
  const followers: Pick<OpenShards<T>, "add" | "remove">[] = [];
  const at = (shard: number): T | Elsewhere => here.get(shard) ?? new Elsewhere(holders.of(shard), shard);

  function add(shard: number, one: T): void {
    here.set(shard, one);
    all = [...here.values()];
    for (const follower of followers) follower.add(shard, one);
  }

  function follow(follower: Pick<OpenShards<T>, "add" | "remove">): void {
    for (const [shard, one] of here) follower.add(shard, one);
    followers.push(follower);
  }

  return {
    get all() {
      return all;
    },
    isSingle,
    of: async (device) => at(await find(device)),
    whenPlaced: async (device) => {
      const shard = await find(device);
      await waits.untilPlaced(shard);
      return at(shard);
    },
    untilPlaced: waits.untilPlaced,
    peek: (device) => {
      const shard = peek(device);
      return shard === null ? null : at(shard);
    },
    map: <U>(of: (one: T) => U) => {
      const mapped = opened<U>(new Map(), finding);
      follow({ add: (shard, one) => mapped.add(shard, of(one)), remove: mapped.remove });
      return mapped;
    },
    each: (action) => follow({ add: (_, one) => action(one), remove: () => undefined }),
    places,
    add,
    remove: (shard) => {
      here.delete(shard);
      all = [...here.values()];
      for (const follower of followers) follower.remove(shard);
    },
  };
}

/** A device's shard is that of the topmost device above it, so that gateways and what they carry are together. */
import { depthMax } from "./below.js";
import type { Directory } from "./directory.js";
import type { DeviceEntry } from "./entries.js";

/** The place of a shard that this process does not have. */
export class Elsewhere {
  /** @param node the number of the process that has the shard of that number; null: none, or it is on its way */
  constructor(
    readonly node: number | null,
    readonly shard: number,
  ) {}
}

/** Something of each shard that this process has, found by device. Shards may come and go. */
export interface ByShard<T> {
  /** Of the shards that are here now. */
  readonly all: readonly T[];
  /** There is no other shard, here or elsewhere, and this one stays. */
  readonly isSingle: boolean;
  of(device: DeviceEntry): Promise<T | Elsewhere>;
  /** The same at once; null if devices above it are not at hand. */
  peek(device: DeviceEntry): T | Elsewhere | null;
  /** `of` is called once for each shard: for those that are here now, and as soon as one comes. */
  map<U>(of: (one: T) => U): ByShard<U>;
}

/** The same, for whoever opens and closes shards. */
interface OpenShards<T> extends ByShard<T> {
  /** The shard of that number is here from now on. */
  add(shard: number, one: T): void;
  /** It is here no more: whoever asks for a device of it is sent elsewhere. */
  remove(shard: number): void;
}

interface ShardPlaces {
  /** The numbers of all shards, here or elsewhere, in an order that every process has. */
  readonly numbers: readonly number[];
  /** The other process that has the shard; null: none. */
  readonly holderOf: (shard: number) => number | null;
  readonly directory: Pick<Directory, "get" | "peek">;
}

/** None is here yet. */
export function openShards<T>({ numbers, holderOf, directory }: ShardPlaces): OpenShards<T> {
  const numberOf = (topmost: number): number => numbers[topmost % numbers.length] ?? 0;
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
    return numberOf(top.id);
  }

  function peek(device: DeviceEntry): number | null {
    if (only !== undefined) return only;
    let top = device;
    for (let depth = 0; top.device.parent !== null && depth < depthMax; depth++) {
      const above = directory.peek(top.device.parent);
      if (above === undefined) return null;
      top = above;
    }
    return numberOf(top.id);
  }

  return opened<T>({ isSingle: only !== undefined, find, peek, holderOf });
}

interface Finding {
  readonly isSingle: boolean;
  /** The number of a device's shard. */
  readonly find: (device: DeviceEntry) => Promise<number>;
  readonly peek: (device: DeviceEntry) => number | null;
  readonly holderOf: ShardPlaces["holderOf"];
}

function opened<T>(finding: Finding): OpenShards<T> {
  const { isSingle, find, peek, holderOf } = finding;
  const here = new Map<number, T>();
  let all: readonly T[] = [];
  const followers: Pick<OpenShards<T>, "add" | "remove">[] = [];
  const at = (shard: number): T | Elsewhere => here.get(shard) ?? new Elsewhere(holderOf(shard), shard);

  function add(shard: number, one: T): void {
    here.set(shard, one);
    all = [...here.values()];
    for (const follower of followers) follower.add(shard, one);
  }

  return {
    get all() {
      return all;
    },
    isSingle,
    of: async (device) => at(await find(device)),
    peek: (device) => {
      const shard = peek(device);
      return shard === null ? null : at(shard);
    },
    map: <U>(of: (one: T) => U) => {
      const mapped = opened<U>(finding);
      const follower = {
        add: (shard: number, one: T) => mapped.add(shard, of(one)),
        remove: mapped.remove,
      };
      for (const [shard, one] of here) follower.add(shard, one);
      followers.push(follower);
      return mapped;
    },
    add,
    remove: (shard) => {
      here.delete(shard);
      all = [...here.values()];
      for (const follower of followers) follower.remove(shard);
    },
  };
}

/** A device's shard is that of the topmost device above it, so that gateways and what they carry are together. */
import { depthMax } from "./below.js";
import type { Directory } from "./directory.js";
import type { DeviceEntry } from "./entries.js";

/** The place of a shard that another process of the cluster has. */
export class Elsewhere {
  /** @param node the number of the process that has the shard of that number */
  constructor(
    readonly node: number,
    readonly shard: number,
  ) {}
}

/** Something of each shard that this process has, found by device. */
export interface ByShard<T> {
  /** Of the shards here. */
  readonly all: readonly [T, ...T[]];
  /** There is no other shard, here or elsewhere. */
  readonly isSingle: boolean;
  of(device: DeviceEntry): Promise<T | Elsewhere>;
  /** The same at once; null if devices above it are not at hand. */
  peek(device: DeviceEntry): T | Elsewhere | null;
  map<U>(of: (one: T) => U): ByShard<U>;
}

/**
 * @param places of all shards, in the order of their numbers, which every process has
 * @throws Error without any here
 */
export function byShard<T>(
  places: readonly (T | Elsewhere)[],
  directory: Pick<Directory, "get" | "peek">,
): ByShard<T> {
  const [first, ...others] = places.filter((one): one is T => !(one instanceof Elsewhere));
  if (first === undefined) throw new Error("cannot find anything by shard: there is none here");
  if (places.length === 1) return always(first);
  const at = (topmost: number): T | Elsewhere => places[topmost % places.length] ?? first;
  return {
    all: [first, ...others],
    isSingle: false,
    of: async (device) => {
      let top = device;
      for (let depth = 0; top.device.parent !== null && depth < depthMax; depth++) {
        const above = await directory.get(top.device.parent);
        if (above === undefined) break;
        top = above;
      }
      return at(top.id);
    },
    peek: (device) => {
      let top = device;
      for (let depth = 0; top.device.parent !== null && depth < depthMax; depth++) {
        const above = directory.peek(top.device.parent);
        if (above === undefined) return null;
        top = above;
      }
      return at(top.id);
    },
    map: (of) =>
      byShard(
        places.map((one) => (one instanceof Elsewhere ? one : of(one))),
        directory,
      ),
  };
}

function always<T>(only: T): ByShard<T> {
  return {
    all: [only],
    isSingle: true,
    of: () => Promise.resolve(only),
    peek: () => only,
    map: (of) => always(of(only)),
  };
}

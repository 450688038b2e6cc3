/** A device's shard is that of the topmost device above it, so that gateways and what they carry are together. */
import { depthMax } from "./below.js";
import type { Directory } from "./directory.js";
import type { DeviceEntry } from "./entries.js";

/** Something of each shard that this process has, found by device. */
export interface ByShard<T> {
  readonly all: readonly [T, ...T[]];
  of(device: DeviceEntry): Promise<T>;
  /** The same at once; null if devices above it are not at hand. */
  peek(device: DeviceEntry): T | null;
  map<U>(of: (one: T) => U): ByShard<U>;
}

/** @throws Error without any */
export function byShard<T>(all: readonly T[], directory: Pick<Directory, "get" | "peek">): ByShard<T> {
  const [first, ...others] = all;
  if (first === undefined) throw new Error("cannot find anything by shard: there is none");
  if (others.length === 0) return always(first);
  const at = (topmost: number): T => all[topmost % all.length] ?? first;
  return {
    all: [first, ...others],
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
    map: (of) => byShard(all.map(of), directory),
  };
}

function always<T>(only: T): ByShard<T> {
  return {
    all: [only],
    of: () => Promise.resolve(only),
    peek: () => only,
    map: (of) => always(of(only)),
  };
}

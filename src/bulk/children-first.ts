import { createSlice } from "../../store/lib/scheduling.js";
import type { DeviceLinks } from "../../store/metadata/devices/many-devices.js";

/** The ids in an order in which each comes before the gateway and the parent device that it refers to. */
export async function childrenFirst(
  ids: readonly number[],
  links: readonly DeviceLinks[],
): Promise<number[]> {
  const slice = createSlice();
  const linked = new Map<number, DeviceLinks>();
  for (const one of links) {
    linked.set(one.id, one);
    if (slice.isOver()) await slice.next();
  }
  /** How many are above each, along the longest way; parents never go in a circle. */
  const depths = new Map<number, number>();
  const byDepth: number[][] = [];
  for (const id of ids) {
    const way = [id];
    for (let at = way.at(-1); at !== undefined; at = way.at(-1)) {
      const above = listParents(linked.get(at));
      const unknown = above.find((one) => !depths.has(one));
      if (unknown === undefined) {
        depths.set(at, Math.max(0, ...above.map((one) => (depths.get(one) ?? 0) + 1)));
        way.pop();
      } else way.push(unknown);
      if (slice.isOver()) await slice.next();
    }
    const depth = depths.get(id) ?? 0;
    while (byDepth.length <= depth) byDepth.push([]);
    byDepth[depth]?.push(id);
  }
  return byDepth.reverse().flat();
}

const listParents = (links: DeviceLinks | undefined): number[] =>
  [links?.gateway, links?.parentDevice].filter((one) => typeof one === "number");

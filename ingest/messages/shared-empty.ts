/**
 * Shared by all that hold nothing, as most of many sessions and devices do: an empty Map of its own takes 180 bytes.
 */
export const emptyMap: ReadonlyMap<never, never> = new Map<never, never>();
export const emptySet: ReadonlySet<never> = new Set<never>();

/** The map to write to: the one that was there, unless it is the one that all share. */
export function ownMap<Key, Value>(map: ReadonlyMap<Key, Value>): Map<Key, Value> {
  return map === emptyMap ? new Map() : (map as Map<Key, Value>);
}

export function ownSet<Value>(set: ReadonlySet<Value>): Set<Value> {
  return set === emptySet ? new Set() : (set as Set<Value>);
}

/** A series as the writer knows it; `slot` is its place in the memtables and is never given again. */
export interface SeriesEntry {
  readonly slot: number;
  /** See series-names.ts. */
  readonly name: string;
  /** The catalog's id; 0 until one is known. */
  id: number;
  removed: boolean;
}

export interface Registry {
  define(handle: number, name: string): void;
  /** The living series of a handle; after a removal a new one of the same name. */
  byHandle(handle: number): SeriesEntry;
  bySlot(slot: number): SeriesEntry;
  matching(matches: (name: string) => boolean): SeriesEntry[];
  remove(entries: readonly SeriesEntry[]): void;
}

export function createRegistry(): Registry {
  const handles: SeriesEntry[] = [];
  const slots: SeriesEntry[] = [];
  const names = new Map<string, SeriesEntry>();

  function intern(name: string): SeriesEntry {
    const known = names.get(name);
    if (known !== undefined) return known;
    const entry: SeriesEntry = { slot: slots.length, name, id: 0, removed: false };
    slots.push(entry);
    names.set(name, entry);
    return entry;
  }

  function at(list: readonly SeriesEntry[], index: number): SeriesEntry {
    const entry = list[index];
    if (entry === undefined) throw new RangeError(`no series has number ${index}`);
    return entry;
  }

  return {
    define: (handle, name) => {
      handles[handle] = intern(name);
    },
    byHandle: (handle) => {
      const entry = at(handles, handle);
      if (!entry.removed) return entry;
      const fresh = intern(entry.name);
      handles[handle] = fresh;
      return fresh;
    },
    bySlot: (slot) => at(slots, slot),
    matching: (matches) => [...names.values()].filter((entry) => matches(entry.name)),
    remove: (entries) => {
      for (const entry of entries) {
        entry.removed = true;
        names.delete(entry.name);
      }
    },
  };
}

import type { FieldKey } from "../series.js";
import { nameOfDevice, parseDeviceName, parseSeriesName, type RemovedScope } from "./names.js";

/** A series as the writer knows it; `slot` is its index in the memtables and is never given again. */
export interface SeriesEntry {
  readonly slot: number;
  /** See names.ts. */
  readonly name: string;
  /** The catalog's id; 0 until it is known. */
  id: number;
  removed: boolean;
}

export interface SeriesRegistry {
  define(handle: number, name: string): void;
  /** The present series of a handle: after a removal a new one of the same name. */
  byHandle(handle: number): SeriesEntry;
  bySlot(slot: number): SeriesEntry;
  /** The series that a removal takes. For devices, no others are looked at. */
  matching(scopes: readonly RemovedScope[]): SeriesEntry[];
  remove(entries: readonly SeriesEntry[]): void;
}

export function createRegistry(): SeriesRegistry {
  const handles: SeriesEntry[] = [];
  const slots: SeriesEntry[] = [];
  /** By device: a removal of many devices must not look at every series. */
  const devices = new Map<string, SeriesEntry[]>();

  function intern(name: string): SeriesEntry {
    const device = parseDeviceName(name);
    const siblings = devices.get(device) ?? [];
    const known = siblings.find((entry) => entry.name === name);
    if (known !== undefined) return known;
    const entry: SeriesEntry = { slot: slots.length, name, id: 0, removed: false };
    slots.push(entry);
    if (siblings.push(entry) === 1) devices.set(device, siblings);
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
    matching: (scopes) => {
      const ofDevices = scopes.flatMap((scope) =>
        "field" in scope ? [] : (devices.get(nameOfDevice(scope)) ?? []),
      );
      const fields = new Set(scopes.flatMap((scope) => ("field" in scope ? [fieldName(scope)] : [])));
      if (fields.size === 0) return ofDevices;
      const all = [...devices.values()].flat();
      return [...ofDevices, ...all.filter((entry) => fields.has(fieldName(parseSeriesName(entry.name))))];
    },
    remove: (entries) => {
      for (const entry of entries) {
        entry.removed = true;
        const device = parseDeviceName(entry.name);
        const left = (devices.get(device) ?? []).filter((one) => one !== entry);
        if (left.length > 0) devices.set(device, left);
        else devices.delete(device);
      }
    },
  };
}

const fieldName = ({ tenant, productID, field }: FieldKey): string => `${tenant}\0${productID}\0${field}`;

/** Changes of what is bound to devices: policies, platform subscriptions, and groups that bring them. */
import { createSlice } from "../../store/lib/scheduling.js";
import { recordName, type Versions } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import { accessOfDevices, findRule, memberIDs } from "../../store/metadata/devices/access.js";
import { type DeviceEntry, noAccess } from "./entries.js";
import type { EntryCache } from "./entry-cache.js";
import { devicesPerRead } from "./entry-loader.js";

export interface AccessFeedDeps {
  readonly db: Db;
  readonly cache: EntryCache;
  readonly versions: Versions;
  /** What the platform subscribes the device to may have changed. */
  onSubscriptions(entry: DeviceEntry): void;
}

interface AccessFeed {
  /** A policy has been edited or is gone. */
  policy(id: number): Promise<void>;
  /** Devices have been bound to the record, or unbound from it. */
  bound(change: Change): Promise<void>;
  /** A platform subscription of a device or a group has changed. */
  subscription(owner: { readonly deviceIntID?: number; readonly groupIntID?: number }): Promise<void>;
  groupGone(id: number): Promise<void>;
}

export function createAccessFeed({ db, cache, versions, onSubscriptions }: AccessFeedDeps): AccessFeed {
  const { entries } = cache;

  /** Reads the bindings of devices again after a change. */
  async function reloadAccess(ids: readonly number[]): Promise<void> {
    const slice = createSlice();
    for (let at = 0; at < ids.length; at += devicesPerRead) {
      const some = ids.slice(at, at + devicesPerRead);
      for (const id of some) versions.touch(recordName("device", id));
      const known = some.filter((id) => entries.has(id));
      const found = known.length === 0 ? null : await accessOfDevices(db, known);
      for (const id of known) {
        const entry = entries.get(id);
        if (entry === undefined) continue;
        cache.setAccess(entry, found?.get(id) ?? noAccess);
        onSubscriptions(entry);
        if (slice.isOver()) await slice.next();
      }
      if (slice.isOver()) await slice.next();
    }
  }

  return {
    policy: async (id) => {
      versions.touch(recordName("policy", id));
      if (cache.boundTo(id).size === 0) return;
      const rule = await findRule(db, id);
      const slice = createSlice();
      for (const entry of [...cache.boundTo(id)]) {
        // It may have been unbound meanwhile.
        if (cache.boundTo(id).has(entry)) {
          cache.setRules(
            entry,
            entry.rules.flatMap((known) => (known.id === id ? (rule ?? []) : known)),
          );
        }
        if (slice.isOver()) await slice.next();
      }
    },
    bound: (change) => reloadAccess(fromJson<{ deviceIntIDs?: number[] }>(change.detail)?.deviceIntIDs ?? []),
    subscription: async ({ deviceIntID, groupIntID }) => {
      if (deviceIntID !== undefined) return reloadAccess([deviceIntID]);
      if (groupIntID === undefined) return;
      for (let after = 0; ; ) {
        const members = await memberIDs(db, groupIntID, after, devicesPerRead);
        await reloadAccess(members);
        if (members.length < devicesPerRead) return;
        after = members.at(-1) ?? after;
      }
    },
    // Its memberships went with it: its former members are known by what they were subscribed to.
    groupGone: async (id) => {
      versions.touch(recordName("group", id));
      const slice = createSlice();
      for (const entry of [...entries.values()]) {
        if (slice.isOver()) await slice.next();
        if (entry.subscriptions.every(({ groupIntID }) => groupIntID !== id)) continue;
        entry.subscriptions = entry.subscriptions.filter(({ groupIntID }) => groupIntID !== id);
        onSubscriptions(entry);
      }
    },
  };
}

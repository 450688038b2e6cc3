import { createRecordCache } from "../../store/lib/record-cache.js";
import { recordName } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import { devicesBelow } from "../../store/metadata/devices/ingest.js";

/** Which devices gateways and parent devices may speak for. */
interface Carried {
  /** Record ids by deviceID, of what hangs below the device, however far, and is not blocked. */
  below(parent: number): Promise<ReadonlyMap<string, number>>;
  forget(change: Change): void;
}

interface Below {
  readonly devices: ReadonlyMap<string, number>;
  /** All that hangs there, blocked or not. */
  readonly ids: readonly number[];
}

/** The part of a device that decides what it hangs below, and who may speak for it. */
interface ParentFields {
  readonly gateway?: number | null;
  readonly parentDevice?: number | null;
  readonly blocked?: number;
}

const parentsMax = 10_000;

export function createCarried(db: Db): Carried {
  const known = createRecordCache<number, Below>(parentsMax, ({ ids }, parent) =>
    [parent, ...ids].map(toName),
  );

  async function read(parent: number): Promise<Below> {
    const all = await devicesBelow(db, parent);
    const open = all.filter(({ blocked }) => blocked === 0);
    return { devices: new Map(open.map((one) => [one.deviceID, one.id])), ids: all.map(({ id }) => id) };
  }

  return {
    below: async (parent) => (await known.get(parent, () => read(parent))).devices,
    forget: ({ entity, action, recordID, detail }) => {
      if (entity !== "device") return;
      const fields = fromJson<ParentFields>(detail) ?? {};
      const { gateway, parentDevice, blocked } = fields;
      const stays = [gateway, parentDevice, blocked].every((one) => one === undefined);
      if (action === "update" && stays) return;
      // The lists of its former parents were made with it; those of its present ones may not have been made yet.
      for (const id of [recordID, gateway, parentDevice]) if (typeof id === "number") known.touch(toName(id));
    },
  };
}

const toName = (id: number): string => recordName("device", id);

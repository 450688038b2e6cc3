import { createRecordCache } from "../../store/lib/record-cache.js";
import { recordName } from "../../store/lib/versions.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import { devicesBelow } from "../../store/metadata/devices/ingest.js";

/** Whom gateways and parent devices may speak for. */
interface Carriers {
  /** Record ids by deviceID, of what hangs below the carrier and is not blocked. */
  below(carrier: number): Promise<ReadonlyMap<string, number>>;
  forget(change: Change): void;
}

interface Below {
  readonly devices: ReadonlyMap<string, number>;
  /** All that hangs there, blocked or not. */
  readonly ids: readonly number[];
}

/** What of a device decides below whom it hangs, and who may speak for it. */
interface Place {
  readonly gateway?: number | null;
  readonly parentDevice?: number | null;
  readonly blocked?: number;
}

const carriersMax = 10_000;

export function createCarriers(db: Db): Carriers {
  const known = createRecordCache<number, Below>(carriersMax, ({ ids }, carrier) =>
    [carrier, ...ids].map(toName),
  );

  async function read(carrier: number): Promise<Below> {
    const all = await devicesBelow(db, carrier);
    const open = all.filter(({ blocked }) => blocked === 0);
    return { devices: new Map(open.map((one) => [one.deviceID, one.id])), ids: all.map(({ id }) => id) };
  }

  return {
    below: async (carrier) => (await known.get(carrier, () => read(carrier))).devices,
    forget: ({ entity, action, recordID, detail }) => {
      if (entity !== "device") return;
      const place = fromJson<Place>(detail) ?? {};
      const { gateway, parentDevice, blocked } = place;
      const stays = [gateway, parentDevice, blocked].every((one) => one === undefined);
      if (action === "update" && stays) return;
      // Whatever it hung below is made of it; what it hangs below now may not be yet.
      for (const id of [recordID, gateway, parentDevice]) if (typeof id === "number") known.touch(toName(id));
    },
  };
}

const toName = (id: number): string => recordName("device", id);

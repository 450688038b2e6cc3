import { StoreError } from "../../store/lib/errors.js";
import type { BulkError } from "../../store/metadata/commands/bulk-actions.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import { type DeviceStore, removeDevices } from "../../store/metadata/devices/devices.js";
import {
  existingIDs,
  type Membership,
  memberships,
  referredIDs,
  setBlocked,
} from "../../store/metadata/devices/many-devices.js";
import { addMembers } from "../../store/metadata/groups/group-members.js";
import { groupBinding, unbind } from "../../store/metadata/policies/bindings.js";

/**
 * What actions do to the devices of one part. Each may be repeated after it was cut short: what is so already is no
 * failure. They return the failures.
 */

export interface ActDeps {
  readonly devices: DeviceStore;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export const isGone = "the device was deleted";
const isReferred = "other devices refer to it";

const failing = (ids: Iterable<number>, reason: string): BulkError[] =>
  [...ids].map((id) => ({ id, reason }));

const isError = (error: unknown, code: StoreError["code"]): boolean =>
  error instanceof StoreError && error.code === code;

export async function block(
  { devices: { db }, now }: ActDeps,
  actor: Actor,
  ids: readonly number[],
  blocked: 0 | 1,
): Promise<BulkError[]> {
  const known = await existingIDs(db, actor.tenant, ids);
  await setBlocked(db, actor, now(), [...known], blocked);
  return failing(
    ids.filter((id) => !known.has(id)),
    isGone,
  );
}

/** Those that devices outside of the part refer to stay, and whatever these refer to. */
export async function remove(deps: ActDeps, actor: Actor, ids: readonly number[]): Promise<BulkError[]> {
  const { db } = deps.devices;
  let going = [...(await existingIDs(db, actor.tenant, ids))];
  const staying: number[] = [];
  for (;;) {
    const referred = await referredIDs(db, going);
    if (referred.size === 0) break;
    staying.push(...referred);
    going = going.filter((id) => !referred.has(id));
  }
  if (going.length > 0) {
    try {
      await removeDevices(deps.devices, actor, deps.now(), going);
    } catch (error) {
      if (!isError(error, "REFERENCED")) throw error;
      // Somebody has come to refer to one of them meanwhile.
      for (const id of going) if (!(await removeOne(deps, actor, id))) staying.push(id);
    }
  }
  return failing(staying, isReferred);
}

async function removeOne({ devices, now }: ActDeps, actor: Actor, id: number): Promise<boolean> {
  try {
    await removeDevices(devices, actor, now(), [id]);
    return true;
  } catch (error) {
    if (isError(error, "REFERENCED")) return false;
    throw error;
  }
}

export async function addToGroup(
  { devices: { db }, now }: ActDeps,
  actor: Actor,
  ids: readonly number[],
  group: number,
): Promise<BulkError[]> {
  const found = await memberships(db, actor.tenant, group, ids);
  if (found === undefined) return failing(ids, "the group was deleted");
  const known = new Map(found.map((one) => [one.id, one]));
  const fitting = found.filter((one) => misfit(one) === null).map(({ id }) => id);
  await addMembers(db, actor, now(), group, fitting);
  return ids.flatMap((id) => {
    const reason = misfit(known.get(id));
    return reason === null ? [] : [{ id, reason }];
  });
}

function misfit(device: Membership | undefined): string | null {
  if (device === undefined) return isGone;
  if (device.kind === "gateway") return "gateways are in no group";
  return device.isOfProduct === 1 ? null : "the device is of another product than the group";
}

export async function removeFromGroup(
  { devices: { db }, now }: ActDeps,
  actor: Actor,
  ids: readonly number[],
  group: number,
): Promise<BulkError[]> {
  for (;;) {
    const found = await memberships(db, actor.tenant, group, ids);
    const devices = (found ?? []).filter(({ isMember }) => isMember === 1).map(({ id }) => id);
    if (devices.length === 0) return [];
    try {
      await unbind(db, actor, now(), groupBinding, { owners: [group], devices });
      return [];
    } catch (error) {
      // Somebody else has just taken one of them out.
      if (!isError(error, "NOT_FOUND")) throw error;
    }
  }
}

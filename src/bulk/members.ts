import type { Db } from "../../store/metadata/db/db.js";
import { listLinks } from "../../store/metadata/devices/many-devices.js";
import { fleetMatches } from "../../store/metadata/fleet/matches.js";
import { groupBatchBytesMax } from "../commands/group-publish.js";
import { TaskFailure } from "../tasks/task-kind.js";
import { type BulkInput, bulkDevicesMax, bulkPayloadBytesMax, isPayloadTooLarge } from "./bulk-input.js";
import { childrenFirst } from "./children-first.js";

/** Links asked for at once. */
const linksPerStep = 1000;

/** Whom an action is for, in the order in which they are taken, in parts. @throws TaskFailure if they are too many */
export async function splitByGroup(
  db: Db,
  tenant: number,
  input: BulkInput,
  devicesPerPart: number,
): Promise<number[][]> {
  const ids = await findMemberIds(db, tenant, input);
  if (isPayloadTooLarge(input, ids.length)) {
    const most = Math.floor(bulkPayloadBytesMax / ids.length);
    throw new TaskFailure(`for ${ids.length} devices the payload may have ${most} bytes`);
  }
  const payloadBytes = input.action === "command" ? Buffer.byteLength(input.payload) : 1;
  const perPart = Math.max(1, Math.min(devicesPerPart, Math.floor(groupBatchBytesMax / payloadBytes)));
  const inOrder = input.action === "delete" ? await inOrderOfDeletion(db, ids) : ids;
  const count = Math.ceil(inOrder.length / perPart);
  return Array.from({ length: count }, (_, i) => inOrder.slice(i * perPart, (i + 1) * perPart));
}

async function findMemberIds(db: Db, tenant: number, input: BulkInput): Promise<readonly number[]> {
  if ("ids" in input) return input.ids;
  const { ids, isWhole } = await fleetMatches(db, tenant, input.filter, bulkDevicesMax);
  if (!isWhole) throw new TaskFailure(`the filter means more than ${bulkDevicesMax} devices`);
  return ids;
}

async function inOrderOfDeletion(db: Db, ids: readonly number[]): Promise<number[]> {
  const links = [];
  for (let at = 0; at < ids.length; at += linksPerStep) {
    links.push(...(await listLinks(db, ids.slice(at, at + linksPerStep))));
  }
  return childrenFirst(ids, links);
}

import type { Group } from "../../store/metadata/groups/groups.js";
import { devicesShownMax } from "../../store/metadata/products/products.js";
import type { ViewContext } from "./context.js";
import { devicesShown } from "./products.js";

/** A group, and in Variant B the ids of its newest devices, one more than are shown if there are more. */
export interface GroupRow extends Group {
  readonly devices?: readonly number[];
}

export function groupTruncated(group: GroupRow): boolean {
  return (group.devices?.length ?? 0) > devicesShownMax;
}

export function groupStored(group: GroupRow, { stamp, variant }: ViewContext) {
  return {
    id: group.id,
    groupID: group.groupID,
    groupName: group.groupName,
    description: group.description,
    productID: group.productID,
    ...(variant === "A" ? {} : { devices: devicesShown(group.devices ?? []), userIntID: group.userIntID }),
    createAt: stamp(group.createAt),
    updateAt: stamp(group.updateAt),
  };
}

export function groupListed(group: GroupRow, context: ViewContext) {
  return {
    ...groupStored(group, context),
    productName: group.productName,
    ...(context.variant === "A" ? { deviceCount: group.deviceCount } : {}),
  };
}

export function groupDetail(group: GroupRow, context: ViewContext) {
  return {
    ...groupStored(group, context),
    productName: group.productName,
    createUser: group.createUser,
  };
}

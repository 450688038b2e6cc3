import type { ConnectionRecord } from "../../store/journal/record.js";
import { connectStatuses } from "../journal-lists/listings.js";
import type { ViewContext } from "./context.js";
import type { LogRow } from "./events.js";

/** A row of the caller's tenant, whose name every row has. */
export function connectLogListed(
  tenantID: string,
  row: LogRow<ConnectionRecord>,
  { stamp, variant, label, labelB }: ViewContext,
) {
  const { record, deviceID, deviceName } = row;
  const status = connectStatuses[record.kind] ?? null;
  return {
    id: record.id,
    deviceID,
    deviceName,
    IP: record.ip,
    keepAlive: record.keepAlive,
    tenantID,
    ...(variant === "A"
      ? { connectStatus: status, connectStatusLabel: label("connectStatus", status) }
      : { deviceStatus: status, deviceStatusLabel: labelB("deviceStatus", status) }),
    createAt: stamp(Math.floor(record.receivedAt / 1000)),
    updateAt: null,
  };
}

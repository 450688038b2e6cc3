import { isRefused, type JournalRecord, type MessageRecord } from "../../store/journal/record.js";
import { payloadText } from "../journal-lists/payload-text.js";
import type { ViewContext } from "./context.js";

export type EventRow = LogRow<MessageRecord>;

/** A journal record with the metadata of its device; null if that is gone. */
export interface LogRow<Row extends JournalRecord> {
  readonly record: Row;
  readonly deviceID: string | null;
  readonly deviceName: string | null;
  readonly productName: string | null;
}

function shown({ record }: EventRow, { stamp }: ViewContext) {
  const at = stamp(Math.floor(record.receivedAt / 1000));
  return {
    IP: record.ip,
    topic: record.topic,
    payload: payloadText(record.payload),
    msgTime: at,
    createAt: at,
    updateAt: null,
    // An addition to the interface, present only when a policy has refused the message.
    ...(isRefused(record) ? { refused: true as const } : {}),
  };
}

export function eventListed(row: EventRow, context: ViewContext) {
  const { deviceID, deviceName } = row;
  return { id: row.record.id, deviceID, deviceName, ...shown(row, context) };
}

/** In lists of the whole account, Variant B names the product too. */
export function accountEventListed(row: EventRow, context: ViewContext) {
  const listed = eventListed(row, context);
  return context.variant === "A" ? listed : { ...listed, productName: row.productName };
}

export function gatewayEventListed(row: EventRow, context: ViewContext) {
  const { deviceID, deviceName: gatewayName } = row;
  return { id: row.record.id, deviceID, gatewayName, ...shown(row, context) };
}

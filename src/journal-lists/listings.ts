/** What lists of the journal there are, and what their filters ask of a record. */
import { type Log, logs } from "../../store/events/event-postings.js";
import {
  type ConnectionRecord,
  isMessage,
  isOfConnection,
  isRefused,
  type JournalRecord,
  type MessageRecord,
} from "../../store/journal/record.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import type { Filter } from "../../store/metadata/db/table.js";
import { containsText } from "../http/text-search.js";
import { payloadContains } from "./payload-text.js";

/** 0 disconnected, 1 connected, 2 refused; the codes of connectStatus, and of deviceStatus in Variant B. */
export const connectStatuses: Readonly<Record<number, number>> = {
  [recordKinds.disconnect]: 0,
  [recordKinds.connect]: 1,
  [recordKinds.denial]: 2,
};

/** Whether a record passes a filter, by the filter's field. */
type RecordTests<Row extends JournalRecord> = Readonly<
  Record<string, (record: Row, filter: Filter) => boolean>
>;

/** A list, of records of one type. */
interface Listing<Row extends JournalRecord = JournalRecord> {
  readonly logs: readonly Log[];
  /** The kinds of records that these logs hold. */
  readonly holds: (record: JournalRecord) => record is Row;
  readonly tests: RecordTests<Row>;
}

export const receivedIn = ({ receivedAt }: JournalRecord, { value, until = 0 }: Filter): boolean =>
  receivedAt >= Number(value) && receivedAt < until;

/** Filters of every record: its id, and its time of receipt under the names that show it. */
export const common: RecordTests<JournalRecord> = {
  id: (record, { value }) => record.id === value,
  msgTime: receivedIn,
  createAt: receivedIn,
  updateAt: () => false,
};

/** A filter on a text of the record. */
const textTest =
  <Row extends JournalRecord>(read: (record: Row) => string) =>
  (record: Row, { like, value }: Filter): boolean => {
    const text = read(record);
    return like ? containsText(text, String(value)) : text === value;
  };

const messageTests: RecordTests<MessageRecord> = {
  ...common,
  topic: textTest((record) => record.topic),
  IP: textTest((record) => record.ip),
  payload: (record, { like, value }) => payloadContains(record.payload, like, String(value)),
  refused: (record, { value }) => (isRefused(record) ? 1 : 0) === value,
};

const hasStatus = (record: ConnectionRecord, { value }: Filter): boolean =>
  connectStatuses[record.kind] === value;
const connectionTests: RecordTests<ConnectionRecord> = {
  ...common,
  IP: textTest((record) => record.ip),
  keepAlive: (record, { value }) => record.keepAlive === value,
  connectStatus: hasStatus,
  deviceStatus: hasStatus,
};

export const messages: Listing<MessageRecord> = {
  logs: [logs.events],
  holds: isMessage,
  tests: messageTests,
};
/** Without those that were refused. */
export const connections: Listing<ConnectionRecord> = {
  logs: [logs.connects],
  holds: isOfConnection,
  tests: connectionTests,
};
export const attempts: Listing<ConnectionRecord> = {
  logs: [logs.connects, logs.denials],
  holds: isOfConnection,
  tests: connectionTests,
};

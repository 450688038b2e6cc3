import { isDeepStrictEqual } from "node:util";
import type { Journal } from "../../store/journal.js";
import { type JournalInput, recordKinds } from "../../store/journal-record.js";
import { messageExtra, recipientsExtra } from "./record-extras.js";
import type { DownMessage } from "./records.js";
import { firstOf } from "./settling.js";
import type { Spaces } from "./spaces.js";
import type { Settled } from "./state.js";

/** Messages of ours on their way to sessions by the journal. */
export interface DownlinkRecords {
  /** As SessionRecords.send. */
  send(
    to: { readonly tenant: number; readonly device: number },
    message: DownMessage,
    settled: Settled,
    kept: () => void,
  ): void;
}

interface Recipient {
  readonly device: number;
  readonly receipt: number | null;
  readonly settled: Settled;
  readonly kept: () => void;
}

/** One message of one tenant, and to whom it goes. */
interface Open {
  readonly tenant: number;
  readonly message: DownMessage;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly to: Recipient[];
}

/** Devices of one record. */
const recipientsMax = 250;

/**
 * What is sent to several devices one after the other, as a command to a group is, goes by one record: its payload
 * stands there once. The record is written before anything else has its turn.
 */
export function createDownlinkRecords(
  journal: Pick<Journal, "append">,
  spaces: Pick<Spaces, "send">,
  micros: () => number,
  blank: JournalInput,
): DownlinkRecords {
  let open: Open | null = null;

  function write(): void {
    if (open === null) return;
    const { tenant, message, at, to } = open;
    open = null;
    const { topic, payload, qos, properties } = message;
    const [first] = to;
    const one = to.length === 1 && first !== undefined ? first : null;
    const input: JournalInput = {
      ...blank,
      ...{ tenant, topic, payload, qos },
      kind: one === null ? recordKinds.downlinks : recordKinds.downlink,
      device: one?.device ?? 0,
      extra:
        one === null ? recipientsExtra(properties, to) : messageExtra(properties, { receipt: one.receipt }),
    };
    const appended = (): void => {
      for (const { device, receipt, settled, kept } of to) {
        const copies = firstOf(settled);
        const published = { topic, payload, qos, properties, receipt, retain: false, at };
        const { awaited } = spaces.send({ ...published, device, session: -1 }, copies.settled);
        copies.begin(awaited);
        kept();
      }
    };
    try {
      journal.append(input, appended);
    } catch {
      // It can be on no record: it has failed, and nothing else that goes in this turn.
      for (const { settled, kept } of to) {
        settled(false);
        kept();
      }
    }
  }

  return {
    send: ({ tenant, device }, message, settled, kept) => {
      if (open !== null && !(open.tenant === tenant && goesWith(open, message))) write();
      if (open === null) {
        open = { tenant, message, at: micros(), to: [] };
        queueMicrotask(write);
      }
      open.to.push({ device, receipt: message.receipt, settled, kept });
    },
  };
}

function goesWith({ message, to }: Open, { topic, payload, qos, properties }: DownMessage): boolean {
  if (message.payload !== payload || message.topic !== topic || message.qos !== qos) return false;
  return to.length < recipientsMax && isDeepStrictEqual(message.properties, properties);
}

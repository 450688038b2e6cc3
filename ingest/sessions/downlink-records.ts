import { isDeepStrictEqual } from "node:util";
import type { Journal } from "../../store/journal/journal.js";
import type { MessageProperties } from "../../store/journal/message.js";
import type { JournalInput } from "../../store/journal/record.js";
import { encodeDownlinkDetails, encodeDownlinksDetails } from "../../store/journal/record-details.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { lightWorkMax, type WorkBudget, workMax } from "../uplinks/work-budget.js";
import { firstAck } from "./first-ack.js";
import type { SessionRegistry } from "./session-registry.js";
import type { Settled } from "./state.js";

/** A message of ours to one device. */
export interface DownMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly properties: MessageProperties | null;
  /** If the message is a command: record id of its control log. */
  readonly receipt: number | null;
}

/** Messages of ours on their way to sessions by the journal. */
interface DownlinkRecords {
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
  /** Characters of topic filters that are compared for all of them. */
  cost: number;
}

/** Devices of one record, and what it may cost to find which of them get it. */
const recipientsMax = 250;
const costMax = workMax / 4;

/**
 * A message that is sent to several devices one after the other, like a command to a group, goes by one record: its
 * payload stands there once. The record is written before anything else has its turn, unless what it brings about has
 * to wait for its tenant's: then the tenant's others wait for it, so that each device gets them in their order.
 */
export function createDownlinkRecords(
  journal: Pick<Journal, "append">,
  registry: Pick<SessionRegistry, "send" | "publishCost">,
  micros: () => number,
  work: WorkBudget,
): DownlinkRecords {
  let open: Open | null = null;
  /** Messages that wait, by tenant; the first of each waits for the work budget. */
  const held = new Map<number, Open[]>();

  function close(): void {
    if (open === null) return;
    const closed = open;
    open = null;
    const { tenant, cost } = closed;
    const before = held.get(tenant);
    if (before !== undefined) before.push(closed);
    else if (cost <= lightWorkMax) write(closed, 0);
    else if (work.take(tenant, cost)) write(closed, cost);
    else {
      held.set(tenant, [closed]);
      void writeHeld(tenant);
    }
  }

  async function writeHeld(tenant: number): Promise<void> {
    const all = held.get(tenant) ?? [];
    for (let [next] = all; next !== undefined; [next] = all) {
      await work.room(tenant, next.cost);
      all.shift();
      if (all.length === 0) held.delete(tenant);
      write(next, next.cost);
    }
  }

  /** `taken`: of the budget. */
  function write({ tenant, message, at, to }: Open, taken: number): void {
    const { topic, payload, qos, properties } = message;
    const [first] = to;
    const one = to.length === 1 && first !== undefined ? first : null;
    const said = { tenant, topic, payload, qos };
    const input: JournalInput =
      one === null
        ? {
            ...said,
            kind: recordKinds.downlinks,
            device: 0,
            details: encodeDownlinksDetails({ properties, to }),
          }
        : {
            ...said,
            kind: recordKinds.downlink,
            device: one.device,
            details: encodeDownlinkDetails({ properties, receipt: one.receipt }),
          };
    const appended = (): void => {
      if (taken > 0) work.give(tenant, taken);
      for (const { device, receipt, settled, kept } of to) {
        const copies = firstAck(settled);
        const published = { topic, payload, qos, properties, receipt, retain: false, at };
        const { awaited } = registry.send({ ...published, device, session: -1 }, copies.settled);
        copies.begin(awaited);
        kept();
      }
    };
    try {
      journal.append(input, appended);
    } catch {
      if (taken > 0) work.give(tenant, taken);
      // It cannot be put on record: it alone fails, and nothing else that goes in this turn.
      for (const { settled, kept } of to) {
        settled(false);
        kept();
      }
    }
  }

  return {
    send: ({ tenant, device }, message, settled, kept) => {
      const cost = registry.publishCost(device, message.topic);
      if (open !== null && !(open.tenant === tenant && goesWith(open, message, cost))) close();
      if (open === null) {
        open = { tenant, message, at: micros(), to: [], cost: 0 };
        queueMicrotask(close);
      }
      open.cost += cost;
      open.to.push({ device, receipt: message.receipt, settled, kept });
    },
  };
}

function goesWith(
  { message, to, cost: known }: Open,
  { topic, payload, qos, properties }: DownMessage,
  cost: number,
): boolean {
  if (known + cost > costMax) return false;
  if (message.payload !== payload || message.topic !== topic || message.qos !== qos) return false;
  return to.length < recipientsMax && isDeepStrictEqual(message.properties, properties);
}

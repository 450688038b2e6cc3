/** Messages from the broker: into the journal in the broker's order, and acknowledged in that order. */
import { createSlice } from "../../../store/lib/scheduling.js";
import { createDispatch, type DispatchDeps } from "./dispatch.js";
import { type BrokerReceived, createBrokerIntake, type IntakeDeps } from "./intake.js";
import type { BrokerLink } from "./link.js";
import { OrderedAcks } from "./ordered-acks.js";
import type { BrokerDelivery } from "./packets.js";
import { createRedeliveries } from "./redelivery.js";

export interface InboundDeps extends IntakeDeps, DispatchDeps {
  /** A shard can take nothing now. */
  readonly isFull: () => boolean;
  /** There are acknowledgements to flush, soon. */
  readonly onAnswer: () => void;
  /** Waiting messages have been taken: reading may go on. */
  readonly onRoom: () => void;
  /** A fault of ours, which one message has paid for. */
  readonly onFault: (error: unknown) => void;
}

interface Inbound {
  /** A connection begins; `resumed`: the broker goes on with what it had open. */
  begin(link: BrokerLink, resumed: boolean): void;
  take(delivery: BrokerDelivery): void;
  /** Takes nothing more: the broker sends waiting messages again to the next connection. */
  end(): void;
  /** Whether reading must wait. */
  readonly isFull: boolean;
  readonly inFlight: number;
}

const inFlightBytesMax = 8 * 1024 * 1024;

export function createInbound(deps: InboundDeps): Inbound {
  const { signal } = deps;
  const redeliveries = createRedeliveries();
  const intake = createBrokerIntake(deps, redeliveries);
  const dispatch = createDispatch(deps, intake, redeliveries);
  let current: OrderedAcks | null = null;
  /** Messages that wait for their device, or for those before them. */
  let waiting: BrokerReceived[] = [];
  let isDraining = false;

  /** A fault of ours at one message costs only that one: sent again, it would fail again. */
  function passOver(received: BrokerReceived, error: unknown): void {
    deps.onFault(error);
    intake.refuse(received, "fault");
  }

  async function drain(): Promise<void> {
    isDraining = true;
    const slice = createSlice();
    for (let at = 0; at < waiting.length; at++) {
      if (slice.isOver()) await slice.next();
      const received = waiting[at];
      if (received === undefined || received.acks.isOver) continue;
      try {
        if (!dispatch.atOnce(received)) await dispatch.later(received);
      } catch (error) {
        if (signal.aborted) return;
        passOver(received, error);
      }
    }
    waiting = [];
    isDraining = false;
    deps.onRoom();
  }

  return {
    begin: (link, resumed) => {
      redeliveries.begin(resumed);
      if (current !== null) current.isOver = true;
      current = new OrderedAcks(link, deps.onAnswer);
    },
    take: (delivery) => {
      if (current === null) return;
      const received = { acks: current, delivery };
      try {
        if (!isDraining && dispatch.atOnce(received)) return;
      } catch (error) {
        return passOver(received, error);
      }
      waiting.push(received);
      if (!isDraining) {
        void drain();
        return;
      }
      dispatch.askAhead(delivery);
    },
    end: () => {
      if (current !== null) current.isOver = true;
      current = null;
    },
    get isFull() {
      return isDraining || intake.inFlightBytes > inFlightBytesMax || deps.isFull();
    },
    get inFlight() {
      return intake.inFlight;
    },
  };
}

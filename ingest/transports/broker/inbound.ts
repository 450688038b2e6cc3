/** What the broker hands us: in its order into the journal, acknowledged in that order. */
import { retry } from "../../../store/lib/retry.js";
import { createSlice } from "../../../store/lib/turns.js";
import type { DeviceEntry } from "../../directory/entries.js";
import type { Taken } from "../../uplinks/redelivery.js";
import { lightWorkMax, type WorkBudget } from "../../uplinks/work-budget.js";
import { createIntake, type IntakeDeps, type Received } from "./intake.js";
import type { Link } from "./link.js";
import { OrderedAcks } from "./ordered-acks.js";
import type { Delivery } from "./packets.js";
import { createRedeliveries } from "./redelivery.js";
import { readUplinkTopic } from "./topics.js";

export interface InboundDeps extends IntakeDeps {
  readonly work: WorkBudget;
  /** By deviceID, from memory: null = nobody has it, undefined = it must be looked up. */
  readonly peek: (deviceID: string) => DeviceEntry | null | undefined;
  readonly find: (deviceID: string) => Promise<DeviceEntry | undefined>;
  /** What an earlier run had taken of a device. */
  readonly takenBefore: (device: number) => Promise<Taken>;
  /** There are acknowledgements to flush, soon. */
  readonly onAnswer: () => void;
  /** What waited has been taken: there may be room again. */
  readonly onRoom: () => void;
  readonly onTrouble: (error: unknown) => void;
  /** A fault of ours, which one message has paid for. */
  readonly onFault: (error: unknown) => void;
  /** Nothing is looked up any more once it is aborted. */
  readonly signal: AbortSignal;
}

interface Inbound {
  /** A connection begins; `resumed`: the broker goes on with what it had open. */
  begin(link: Link, resumed: boolean): void;
  take(delivery: Delivery): void;
  /** Reading must wait. */
  readonly isFull: boolean;
  readonly inFlight: number;
}

const inFlightBytesMax = 8 * 1024 * 1024;
const lookupDelayMs = { first: 1000, longest: 1000 } as const;

export function createInbound(deps: InboundDeps): Inbound {
  const { accept, work, signal } = deps;
  const redeliveries = createRedeliveries(deps.takenBefore);
  const intake = createIntake(deps, redeliveries);
  let current: OrderedAcks | null = null;
  /** Messages that wait for their device, or for those before them. */
  let waiting: Received[] = [];
  let isDraining = false;

  const costOf = (device: DeviceEntry | null, topic: string): number =>
    device === null ? 0 : deps.registry.publishCost(device.id, topic);

  /** A fault of ours at one message costs that one: sent again it would come to the same. */
  function passOver(received: Received, error: unknown): void {
    deps.onFault(error);
    intake.refuse(received, "fault");
  }

  /** False if it has to wait for something. */
  function takeAtOnce(received: Received): boolean {
    const named = intake.read(received);
    if (named === null) return true;
    const device = deps.peek(named.deviceID);
    if (device === undefined) return false;
    if (device !== null && redeliveries.needsHistory(received.delivery, device)) return false;
    if (costOf(device, named.topic) > lightWorkMax) return false;
    intake.take(received, device, named.topic);
    return true;
  }

  async function takeLater(received: Received): Promise<void> {
    const named = intake.read(received);
    if (named === null) return;
    const device = (await patiently(() => deps.find(named.deviceID))) ?? null;
    if (device !== null && redeliveries.needsHistory(received.delivery, device)) {
      await patiently(() => redeliveries.readHistory(device));
    }
    // Of a connection that has gone meanwhile: the broker sends it again.
    if (received.acks.isOver) return;
    const cost = costOf(device, named.topic);
    if (device !== null && cost > lightWorkMax) await takeInTurn(received, device, named.topic, cost);
    else intake.take(received, device, named.topic);
  }

  /** One that brings much about in its commit: in the turn of its device's tenant. */
  async function takeInTurn(
    received: Received,
    device: DeviceEntry,
    topic: string,
    cost: number,
  ): Promise<void> {
    const { tenant } = device.device;
    await work.room(tenant, cost);
    const give = (): void => work.give(tenant, cost);
    let isAppended = false;
    try {
      isAppended = !received.acks.isOver && intake.take(received, device, topic, give);
    } finally {
      if (!isAppended) give();
    }
  }

  /** The metadata may be away for a while; the messages wait for it. */
  const patiently = <T>(action: () => Promise<T>): Promise<T> =>
    retry(action, { signal, delayMs: lookupDelayMs, isTransient: () => true, onTrouble: deps.onTrouble });

  async function drain(): Promise<void> {
    isDraining = true;
    const slice = createSlice();
    for (let at = 0; at < waiting.length; at++) {
      if (slice.isOver()) await slice.next();
      const received = waiting[at];
      if (received === undefined || received.acks.isOver) continue;
      try {
        if (!takeAtOnce(received)) await takeLater(received);
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
        if (!isDraining && takeAtOnce(received)) return;
      } catch (error) {
        return passOver(received, error);
      }
      waiting.push(received);
      if (!isDraining) {
        void drain();
        return;
      }
      // Asked for now, so that a burst of unknown devices is looked up together.
      const named = delivery.topic === null ? null : readUplinkTopic(delivery.topic);
      if (named !== null && deps.peek(named.deviceID) === undefined)
        deps.find(named.deviceID).catch(() => undefined);
    },
    get isFull() {
      return isDraining || intake.inFlightBytes > inFlightBytesMax || accept.full;
    },
    get inFlight() {
      return intake.inFlight;
    },
  };
}

/**
 * The queue of a shard, whichever node has it: messages of the broker are sent there, in their order, until they are on
 * its disk.
 */
import type { BrokerShard } from "../../ingest/transports/broker/broker-shard.js";
import { messageKey } from "../../ingest/uplinks/redelivery.js";
import { encodeUplinkDetails } from "../../store/journal/record-details.js";
import type { sleep as systemSleep } from "../../store/lib/abortable.js";
import {
  beginAnswer,
  type CarriedMessage,
  type FollowerCall,
  messagesMax,
  takeAnswer,
  takenAnswer,
} from "./shard-calls.js";

interface Waiting {
  readonly message: CarriedMessage;
  /** In a call. */
  readonly bytes: number;
  readonly key: () => string;
  /** The node may have it: it is looked for before it is sent. */
  isUnsure: boolean;
  readonly done: () => void;
}

interface ShardQueue extends BrokerShard {
  /** Messages that wait. */
  readonly waiting: number;
}

interface ShardQueueDeps {
  readonly shard: number;
  /** The holder of the seat: its owner, and its term. */
  readonly seat: { readonly owner: string; readonly term: number };
  readonly session: number;
  /** The answer of the node that has the shard now. @throws Error if none has it, or it does not answer */
  readonly call: (call: FollowerCall) => Promise<unknown>;
  /** Nothing is sent any more once it is aborted. */
  readonly signal: AbortSignal;
  readonly sleep: typeof systemSleep;
  /** The node has not taken the first message that waits, which is of this device: it may have another shard by now. */
  readonly onRefused: (device: number) => void;
  /** Fewer wait than before. */
  readonly onKept: () => void;
  /** Called with what a call fails with. */
  readonly onTrouble: (error: unknown) => void;
}

/** Read and checked in one turn of the loop at the other end. */
const batchBytesMax = 256 * 1024;
/** Bytes of a message in a call, besides its texts. */
const messageBytes = 200;
const retryMs = 500;

/** One call at a time; what comes meanwhile is the next. */
export function createShardQueue(deps: ShardQueueDeps): ShardQueue {
  const { shard, seat, session, call, signal, sleep, onRefused, onKept, onTrouble } = deps;
  let waiting: Waiting[] = [];
  let isSending = false;
  let current: string | null = null;

  async function begin(): Promise<string> {
    return beginAnswer.parse(await call({ call: "brokerBegin", shard, ...seat }));
  }

  function nextBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const one of waiting) {
      bytes += one.bytes;
      if (count === messagesMax || (count > 0 && bytes > batchBytesMax)) break;
      count++;
    }
    return waiting.slice(0, count);
  }

  function settle(kept: ReadonlySet<Waiting>): void {
    waiting = waiting.filter((one) => !kept.has(one));
    for (const one of kept) one.done();
    if (kept.size > 0) onKept();
  }

  async function look(ticket: string, unsure: readonly Waiting[]): Promise<void> {
    const kept = new Set(unsure.filter(({ message }) => message.qos === 0));
    for (const device of new Set(unsure.map(({ message }) => message.device))) {
      const taken = new Set(takenAnswer.parse(await call({ call: "brokerTaken", shard, ticket, device })));
      for (const one of unsure) if (one.message.device === device && taken.has(one.key())) kept.add(one);
    }
    for (const one of unsure) one.isUnsure = false;
    settle(kept);
  }

  /** False if the node has not taken all of them. */
  async function send(ticket: string, batch: readonly Waiting[]): Promise<boolean> {
    const messages = batch.map(({ message }) => message);
    // Until there is an answer.
    for (const one of batch) one.isUnsure = true;
    const answers = takeAnswer.parse(await call({ call: "brokerTake", shard, ticket, session, messages }));
    for (const one of batch) one.isUnsure = false;
    settle(new Set(batch.filter((_, i) => answers[i] === true)));
    return batch.every((_, i) => answers[i] === true);
  }

  async function sendAll(): Promise<void> {
    isSending = true;
    while (waiting.length > 0 && !signal.aborted) {
      try {
        const ticket = current ?? (await begin());
        current = ticket;
        const unsure = nextBatch().filter(({ isUnsure }) => isUnsure);
        if (unsure.length > 0) await look(ticket, unsure);
        const batch = takeCertain(nextBatch());
        const isWhole = batch.length === 0 || (await send(ticket, batch));
        const [first] = waiting;
        if (isWhole || first === undefined) continue;
        onRefused(first.message.device);
        await sleep(retryMs, signal);
      } catch (error) {
        // A new ticket makes sure that nothing of the failed call is taken later.
        current = null;
        onTrouble(error);
        await sleep(retryMs, signal);
      }
    }
    isSending = false;
  }

  /** Those before the first that must be looked for. */
  function takeCertain(batch: readonly Waiting[]): readonly Waiting[] {
    const end = batch.findIndex(({ isUnsure }) => isUnsure);
    return end < 0 ? batch : batch.slice(0, end);
  }

  return {
    accept: {
      uplink: ({ device }, uplink, refused, done) => {
        const { topic, payload, qos, messageID, dup, properties } = uplink;
        const details =
          properties === null
            ? null
            : encodeUplinkDetails({ properties, isWill: false, sentAt: null, key: null, batch: null });
        const content = Buffer.from(payload).toString("base64");
        const own = Buffer.from(payload);
        const carried = details === null ? null : Buffer.from(details).toString("base64");
        const texts = content.length + Buffer.byteLength(JSON.stringify(topic)) + (carried?.length ?? 0);
        waiting.push({
          message: {
            device: device.id,
            topic,
            payload: content,
            qos: qos === 0 ? 0 : 1,
            messageID,
            dup,
            refused,
            details: carried,
          },
          bytes: texts + messageBytes,
          isUnsure: dup && qos === 1,
          key: () => messageKey({ messageID, topic, payload: own }),
          done: done ?? (() => undefined),
        });
        if (!isSending) void sendAll();
      },
    },
    // The node that has the shard publishes to the clients there.
    registry: { publish: () => undefined, publishCost: () => 0 },
    work: { room: async () => undefined, give: () => undefined },
    takenBefore: null,
    get waiting() {
      return waiting.length;
    },
  };
}

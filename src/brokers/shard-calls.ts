/** Calls in which the node that follows the broker hands messages to the node that has the shard of their devices. */
import { z } from "@hono/zod-openapi";

/** Messages in one call; their bytes are those of a call. */
export const messagesMax = 500;

const id = z.int().nonnegative();

/** Who calls, and in which order: what comes late of one that has been overtaken is not taken. */
const caller = {
  /** Ascends from one follower of the broker to the next. */
  term: id,
  shard: id,
  /** Ascends with each call of the follower. */
  number: id,
  /** Hash of the client id at the broker. */
  session: id,
};

const message = z.strictObject({
  device: id,
  topic: z.string(),
  payload: z.base64(),
  qos: z.union([z.literal(0), z.literal(1)]),
  messageID: id,
  dup: z.boolean(),
  refused: z.boolean(),
  /** Its properties, as records have them. */
  details: z.base64().nullable(),
});

export const brokerTake = z.strictObject({
  call: z.literal("brokerTake"),
  ...caller,
  messages: z.array(message).max(messagesMax).readonly(),
});
export const brokerTaken = z.strictObject({ call: z.literal("brokerTaken"), ...caller, device: id });

export type BrokerTake = z.infer<typeof brokerTake>;
export type BrokerTaken = z.infer<typeof brokerTaken>;
export type ShardCaller = Pick<BrokerTake, keyof typeof caller>;
export type CarriedMessage = z.infer<typeof message>;

/** For each message whether it is on disk. */
export const takeAnswer = z.array(z.boolean()).max(messagesMax);
/** `messageKey` of what is there of the device. */
export const takenAnswer = z.array(z.string());

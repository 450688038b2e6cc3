/** Calls in which the node that follows the broker hands messages to the node that has the shard of their devices. */
import { z } from "@hono/zod-openapi";

/** Messages in one call; their bytes are those of a call. */
export const messagesMax = 500;

const id = z.int().nonnegative();

/** By `brokerBegin`: what comes late of a call with an earlier one is not taken. */
const ticketed = { shard: id, ticket: z.string() };

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

export const brokerBegin = z.strictObject({
  call: z.literal("brokerBegin"),
  shard: id,
  /** Ascends from one follower of the broker to the next. */
  term: id,
  /** The holder of the seat, as its row says. */
  owner: z.string(),
});
export const brokerTake = z.strictObject({
  call: z.literal("brokerTake"),
  ...ticketed,
  /** Hash of the client id at the broker. */
  session: id,
  messages: z.array(message).max(messagesMax).readonly(),
});
export const brokerTaken = z.strictObject({ call: z.literal("brokerTaken"), ...ticketed, device: id });

export type BrokerBegin = z.infer<typeof brokerBegin>;
export type BrokerTake = z.infer<typeof brokerTake>;
export type BrokerTaken = z.infer<typeof brokerTaken>;
export type FollowerCall = BrokerBegin | BrokerTake | BrokerTaken;
export type Ticketed = Pick<BrokerTake, keyof typeof ticketed>;
export type CarriedMessage = z.infer<typeof message>;

/** The ticket. */
export const beginAnswer = z.string();
/** For each message whether it is on disk. */
export const takeAnswer = z.array(z.boolean()).max(messagesMax);
/** `messageKey` of what is there of the device. */
export const takenAnswer = z.array(z.string());

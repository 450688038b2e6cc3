/** What two nodes say to each other on a link of live events: JSON, a line each. */
import type { Readable, Writable } from "node:stream";
import { z } from "@hono/zod-openapi";
import { reasons } from "../../ingest/decode/reasons.js";
import { nodeTopics } from "../../ingest/live/tenant-events.js";

/** A line holds a chunk of events, or one that is longer, or the devices of one stream. */
const lineBytesMax = 4 * 1024 * 1024;
const newline = 10;

const whole = z.int().nonnegative();

/** The first line: whose events are asked for. */
export const openingLine = z.strictObject({ line: z.literal("open"), tenant: whole });

/** Where in the events of a node's run somebody is. */
const place = z.strictObject({ run: z.string(), number: whole });
export type LivePlace = z.infer<typeof place>;

/** What the node that asks says after the first line. */
export const requestLine = z.discriminatedUnion("line", [
  // Begins, or replaces, what one of its streams wants.
  z.strictObject({
    line: z.literal("want"),
    want: whole,
    topics: z.array(z.enum(nodeTopics)).readonly(),
    devices: z.array(z.string()).readonly(),
  }),
  z.strictObject({ line: z.literal("leave"), want: whole }),
  // From here on events are sent, beginning after the last one that was received.
  z.strictObject({ line: z.literal("begin"), after: place.nullable() }),
  z.strictObject({ line: z.literal("sync"), sync: whole }),
]);
export type RequestLine = z.infer<typeof openingLine | typeof requestLine>;

const refusal = z.strictObject({
  reason: z.enum([...reasons, "policy"]),
  key: z.string().exactOptional(),
  count: whole,
});
const ofDevice = { deviceIntID: whole, deviceID: z.string(), time: z.number() };
const nodeEvent = z.discriminatedUnion("topic", [
  z.strictObject({
    topic: z.literal("points"),
    deviceID: z.string(),
    field: z.string(),
    time: z.number(),
    value: z.union([z.number(), z.boolean(), z.string()]),
  }),
  z.strictObject({
    topic: z.literal("messages"),
    ...ofDevice,
    eventID: whole,
    messageTopic: z.string(),
    size: whole,
    points: whole,
    refused: z.array(refusal).readonly(),
  }),
  z.strictObject({
    topic: z.literal("presence"),
    ...ofDevice,
    deviceStatus: z.union([z.literal(0), z.literal(1)]),
  }),
  // Something that the node keeps was missed.
  z.strictObject({ topic: z.literal("gap") }),
]);
export type NodeEvent = z.infer<typeof nodeEvent>;

/** What the node that is asked says. */
export const eventLine = z.discriminatedUnion("line", [
  z.strictObject({ line: z.literal("begun"), at: place, resumed: z.boolean() }),
  z.strictObject({ line: z.literal("events"), number: whole, events: z.array(nodeEvent).readonly() }),
  // Whatever was said before that `sync` holds.
  z.strictObject({ line: z.literal("synced"), sync: whole }),
  z.strictObject({ line: z.literal("alive") }),
]);
type EventLine = z.infer<typeof eventLine>;

/** Resolves once the line is on its way, or the link is closed. */
export function writeLine(link: Writable, line: RequestLine | EventLine): Promise<void> {
  return new Promise((resolve) => link.write(`${JSON.stringify(line)}\n`, () => resolve()));
}

/** @throws Error if the link breaks off, or for what is no line of JSON */
export async function* readLines(link: Readable): AsyncGenerator<unknown, void> {
  let begun: Buffer[] = [];
  let bytes = 0;
  for await (const piece of link as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      yield JSON.parse(Buffer.concat([...begun, piece.subarray(from, end)]).toString("utf8"));
      begun = [];
      bytes = 0;
      from = end + 1;
    }
    begun.push(piece.subarray(from));
    bytes += piece.length - from;
    if (bytes > lineBytesMax) throw new Error("a line of the link is too long");
  }
}

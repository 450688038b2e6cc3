import type { Duplex } from "node:stream";
import type { EndReason } from "../../../meter.js";

/** The ordered bytes that MQTT needs (MQTT 5.0 §4.2): a TCP or TLS socket, or a WebSocket. */
export type ByteStream = Duplex;

/** What a stream is destroyed with when the layer below MQTT knows why it has to end. */
export class StreamError extends Error {
  constructor(
    readonly reason: EndReason,
    message: string,
  ) {
    super(message);
    this.name = "WireError";
  }
}

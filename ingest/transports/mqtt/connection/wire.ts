import type { Duplex } from "node:stream";
import type { EndReason } from "../../../meter.js";

/** The ordered bytes that MQTT needs (MQTT 5.0 §4.2): a TCP or TLS socket, or a WebSocket. */
export type Wire = Duplex;

/** What a wire is destroyed with when the layer below MQTT knows why it has to end. */
export class WireError extends Error {
  constructor(
    readonly reason: EndReason,
    message: string,
  ) {
    super(message);
    this.name = "WireError";
  }
}

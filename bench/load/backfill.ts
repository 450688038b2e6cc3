import { connect } from "node:net";
import { type Credential, disconnectPacket, encodeConnect, encodePublish } from "./packets.js";
import { createScanner } from "./scanner.js";

const inflightMax = 20;

/**
 * Publishes payloads at QoS 1 on one connection, in order, and resolves when the last is acknowledged: history
 * that carries its own times comes in the way it would from a device.
 */
export function publishAll(
  port: number,
  credential: Credential,
  topic: string,
  payloads: Iterable<string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const source = payloads[Symbol.iterator]();
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    let sent = 0;
    let acked = 0;
    let exhausted = false;

    function sendNext(): void {
      const { value, done } = source.next();
      if (done) exhausted = true;
      else socket.write(encodePublish(topic, (sent++ % 65_535) + 1, Buffer.from(value)));
    }
    function fill(): void {
      while (!exhausted && sent - acked < inflightMax) sendNext();
      if (!exhausted || acked < sent) return;
      socket.end(disconnectPacket);
      resolve(sent);
    }
    const scan = createScanner({
      connected(code) {
        if (code === 0) fill();
        else reject(new Error(`cannot connect the backfill: code ${code}`));
      },
      acked() {
        acked += 1;
        fill();
      },
    });
    socket.on("connect", () => socket.write(encodeConnect(`backfill-${process.pid}`, credential)));
    socket.on("data", scan);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`connection closed after ${acked} of ${sent} messages`)));
  });
}

/**
 * Full TLS handshakes, one after the other on each of so many lanes, each connection closed in good order, so
 * that neither side leaves any of it out. A line of standard input begins a round. The chain is not verified, for that would cost the client and not the server.
 */
import { createInterface } from "node:readline";
import { connect } from "node:tls";
import { createHistogram } from "./histogram.js";

export interface HandshakerRound {
  readonly port: number;
  readonly seconds: number;
  readonly lanes: number;
  readonly version: "TLSv1.2" | "TLSv1.3";
}

function run({ port, seconds, lanes, version }: HandshakerRound): Promise<object> {
  const histogram = createHistogram();
  const begun = performance.now();
  const end = begun + seconds * 1000;
  let done = 0;
  let errors = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      const started = performance.now();
      const ok = await handshake(port, version);
      if (performance.now() >= end) return;
      if (!ok) errors++;
      else {
        done++;
        histogram.record(performance.now() - started);
      }
    }
  };
  return Promise.all(Array.from({ length: lanes }, lane)).then(() => ({
    event: "round",
    rate: done / seconds,
    errors,
    ...histogram.latencies(),
  }));
}

function handshake(port: number, version: HandshakerRound["version"]): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({
      port,
      host: "127.0.0.1",
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
    });
    let secure = false;
    socket.once("secureConnect", () => {
      secure = true;
      socket.end();
    });
    // Read to the end, or the close would wait for what nobody takes.
    socket.on("error", () => undefined).resume();
    socket.once("close", () => resolve(secure));
  });
}

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const result = await run(JSON.parse(line) as HandshakerRound);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  })
  .on("close", () => process.exit(0));
process.stdout.write(`${JSON.stringify({ event: "ready" })}\n`);

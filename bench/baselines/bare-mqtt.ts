/**
 * The reader to compare with: MQTT.js that subscribes and counts, `node dist/bench/baselines/bare-mqtt.js '<BareOptions>'`.
 * Prints `{"event":"listening"}`; for each line `{"messages": n}` it prints `{"event":"read"}` once n more have come.
 */
import { createInterface } from "node:readline";
import { connectAsync } from "mqtt";

export interface BareOptions {
  readonly url: string;
  readonly filter: string;
  readonly connections: number;
  /** Each message is acknowledged so much later, as after a commit; 0: at once. */
  readonly holdMs: number;
}

async function main(): Promise<void> {
  const { url, filter, connections, holdMs } = JSON.parse(process.argv[2] ?? "{}") as BareOptions;
  let read = 0;
  let wanted = Number.POSITIVE_INFINITY;
  const count = (): void => {
    read++;
    if (read >= wanted) say();
  };
  const say = (): void => {
    read -= wanted;
    wanted = Number.POSITIVE_INFINITY;
    const at = performance.timeOrigin + performance.now();
    process.stdout.write(`${JSON.stringify({ event: "read", at })}\n`);
  };
  for (let i = 0; i < connections; i++) {
    const client = await connectAsync(url, {
      protocolVersion: 5,
      clientId: `bare-${i}`,
      properties: { receiveMaximum: 2000 },
    });
    if (holdMs === 0) client.on("message", count);
    else {
      client.handleMessage = (_packet, done) => {
        setTimeout(() => {
          count();
          done();
        }, holdMs);
      };
    }
    await client.subscribeAsync(filter, { qos: 1 });
  }
  process.stdout.write(`${JSON.stringify({ event: "listening" })}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    wanted = (JSON.parse(line) as { messages: number }).messages;
    if (read >= wanted) say();
  }
  process.exit(0);
}

await main();

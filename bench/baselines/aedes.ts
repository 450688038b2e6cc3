/**
 * The peer to beat: aedes with an empty publish hook and everything in memory, in a process of its own:
 * `node dist/bench/baselines/aedes.js [tcp | ws | tls <certificate> <key>]`. A line `{"topics", "qos"}` of standard input makes
 * it publish one message to each of so many topics `fanout/<n>`.
 */
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:tls";
import { Aedes } from "aedes";
import { createWebSocketStream, WebSocketServer } from "ws";

const [layer = "tcp", certificate = "", key = ""] = process.argv.slice(2);
const broker = await Aedes.createBroker({ authorizePublish: (_client, _packet, done) => done(null) });
const payload = Buffer.from('{"setpoint":20.5,"mode":"eco"}');

const handle = (wire: Duplex): void => void broker.handle(wire);
const servers: Readonly<Record<string, () => Server>> = {
  tcp: () => createServer({ noDelay: true }, handle),
  tls: () =>
    createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key), noDelay: true }, handle),
  ws: () => {
    const server = createHttpServer();
    const webSockets = new WebSocketServer({ server, perMessageDeflate: false });
    webSockets.on("connection", (socket) => handle(createWebSocketStream(socket)));
    return server;
  },
};

function publish({ topics, qos }: { readonly topics: number; readonly qos: 0 | 1 }): void {
  for (let n = 0; n < topics; n++) {
    const packet = { cmd: "publish" as const, topic: `fanout/${n}`, payload, qos, dup: false, retain: false };
    broker.publish(packet, () => {});
  }
}

const server = servers[layer]?.();
server?.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ event: "listening", port })}\n`);
});
createInterface({ input: process.stdin })
  .on("line", (line) => publish(JSON.parse(line) as Parameters<typeof publish>[0]))
  .on("close", () => process.exit(0));

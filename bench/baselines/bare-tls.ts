/** Node's own TLS server with the same certificate, which is all that a handshake needs. */
import { readFileSync } from "node:fs";
import { createServer } from "node:tls";

const [certPath = "", keyPath = ""] = process.argv.slice(2);
const server = createServer(
  { cert: readFileSync(certPath), key: readFileSync(keyPath), minVersion: "TLSv1.2" },
  (socket) => socket.on("error", () => socket.destroy()).resume(),
);
server.on("tlsClientError", (_error, socket) => socket.destroy());
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ event: "listening", port })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();

/** The peer to beat: aedes with an empty publish hook and everything in memory, in a process of its own. */
import { createServer } from "node:net";
import { Aedes } from "aedes";

const broker = await Aedes.createBroker({ authorizePublish: (_client, _packet, done) => done(null) });
const server = createServer({ noDelay: true }, (socket) => void broker.handle(socket));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ event: "listening", port })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();

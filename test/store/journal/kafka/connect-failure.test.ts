/** Ports that no broker answers at, or one whose certificate nobody should trust. */
import { createServer, type Socket } from "node:net";
import { createServer as createTLSServer } from "node:tls";
import { openBrokerLink } from "../../../../store/journal/kafka/broker-link.js";
import { StoreError } from "../../../../store/lib/errors.js";
import { makeAuthority, makeCertificate } from "../../../ingest/transports/mqtt/listeners/support.js";
import { assert, rejects, suite } from "../../../suite.js";

suite("brokers that cannot be connected to", (test) => {
  let authority: Awaited<ReturnType<typeof makeAuthority>>;
  test.before(async () => {
    authority = await makeAuthority("Brokers CA");
  });

  /** The error that a client over TLS gets. */
  async function told(server: ReturnType<typeof createServer>, timeMs: number): Promise<string> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const security = { tls: { ca: authority.cert }, sasl: null };
    const options = { clientID: "test", timeMs, answerBytesMax: 1000, security };
    const error = await rejects(() => openBrokerLink({ host: "127.0.0.1", port }, options));
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    assert.instance(error, StoreError);
    return `${(error as StoreError).code} ${error.message}`.replaceAll(String(port), "PORT");
  }

  test("a port that speaks something else is reported at once", async () => {
    const http = createServer((socket) => socket.on("data", () => socket.write("HTTP/1.1 400 Bad\r\n\r\n")));
    assert.is(
      await told(http, 60_000),
      "MISMATCH cannot connect to broker 127.0.0.1:PORT: no TLS with it: ERR_SSL_WRONG_VERSION_NUMBER",
    );
  });

  test("a certificate that is over, or was made for clients, is refused", async () => {
    for (const [wanted, fault] of [
      [{ purpose: "server", from: -7200_000, to: -3600_000 }, /: certificate has expired$/],
      [{ purpose: "client" }, /: uns\w+ certificate purpose$/],
    ] as const) {
      const pair = await makeCertificate(authority, { ...wanted, hosts: ["127.0.0.1"] });
      const refusal = await told(createTLSServer(pair), 60_000);
      assert.match(
        refusal,
        /^MISMATCH cannot connect to broker 127.0.0.1:PORT: its certificate is refused: /,
      );
      assert.match(refusal, fault);
    }
  });

  test("a port that answers nothing is given up in its time", async () => {
    assert.is(
      await told(createServer(), 300),
      "UNAVAILABLE cannot connect to broker 127.0.0.1:PORT: Connection to 127.0.0.1:PORT timed out.",
    );
  });
});

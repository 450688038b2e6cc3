/** Requests that another node answers: how their bodies go on the link. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { forward } from "../../src/cluster/forward.js";
import { createReservation } from "../../store/lib/reservation.js";
import { assert, suite, until } from "../suite.js";

/** A link without TLS that notes the length of each write. */
class PlainAgent extends Agent {
  readonly writes: number[] = [];
  readonly #port: number;

  constructor(port: number) {
    super();
    this.#port = port;
  }

  override createConnection(): Socket {
    const socket = connect(this.#port, "127.0.0.1");
    const write = socket.write.bind(socket) as (bytes: string | Buffer, ...rest: never[]) => boolean;
    socket.write = ((bytes: string | Buffer, ...rest: never[]) => {
      this.writes.push(bytes.length);
      return write(bytes, ...rest);
    }) as typeof socket.write;
    return socket;
  }
}

const length = 100_000;

/** Forwards a body in pieces of one byte to a node that reads late; `bytesMax` may be reserved for it. */
async function forwardBytes(headers: IncomingHttpHeaders, bytesMax: number) {
  const got: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const node = createServer((request, response) => {
    setTimeout(async () => {
      if (request.destroyed) return;
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      got.push({ headers: request.headers, body: Buffer.concat(pieces) });
      response.writeHead(204).end();
    }, 200);
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const { port } = node.address() as AddressInfo;
  const agent = new PlainAgent(port);
  const budget = { held: 0, most: 0 };
  const reservation = createReservation(
    (bytes) => {
      if (budget.held + bytes > bytesMax) return false;
      budget.held += bytes;
      budget.most = Math.max(budget.most, budget.held);
      return true;
    },
    (bytes) => {
      budget.held -= bytes;
    },
  );
  let left = length;
  const source = new Readable({
    read() {
      this.push(left-- > 0 ? Buffer.from("x") : null);
    },
  });
  const request = Object.assign(source, { method: "POST", url: "/", headers });
  const answer = new PassThrough();
  let status = 0;
  const response = Object.assign(answer, {
    headersSent: false,
    writeHead: (code: number) => {
      status = code;
    },
  });
  forward(
    { agent, host: "127.0.0.1", port },
    {
      request: request as unknown as IncomingMessage,
      response: response as unknown as ServerResponse,
      client: { address: "192.0.2.1", isSecure: false, certificate: null },
      reservation,
      proved: () => undefined,
      unreachable: () => {
        status = 503;
      },
    },
  );
  await until(() => status !== 0, { what: "the answer" });
  await until(() => budget.held === 0, { what: "the release" });
  agent.destroy();
  node.closeAllConnections();
  await new Promise((resolve) => node.close(resolve));
  return { status, got: got[0], writes: agent.writes, most: budget.most };
}

suite("requests for another node", (test) => {
  test("a body in pieces of one byte goes on in large pieces and is counted, whether its length is declared or not", async () => {
    for (const declared of [{ "content-length": String(length) }, { "transfer-encoding": "chunked" }]) {
      const { status, got, writes, most } = await forwardBytes({ host: "tidemark", ...declared }, 1_000_000);
      assert.is(status, 204);
      assert.ok(got?.body.equals(Buffer.alloc(length, "x")));
      assert.is(got?.headers.host, "tidemark");
      for (const name of ["content-length", "transfer-encoding"] as const) {
        assert.is(got?.headers[name], (declared as IncomingHttpHeaders)[name], name);
      }
      assert.ok(writes.length < 50, `${writes.length} writes`);
      assert.ok(most >= length, `${most} bytes reserved`);
    }
  });

  test("one whose body exceeds the budget is answered 503 and reserves nothing", async () => {
    for (const declared of [{ "content-length": String(length) }, { "transfer-encoding": "chunked" }]) {
      const { status, got, most } = await forwardBytes({ host: "tidemark", ...declared }, length);
      assert.equal([status, got, most], [503, undefined, 0]);
    }
  });
});

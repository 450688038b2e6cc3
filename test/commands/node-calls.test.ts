/** Calls between nodes, over a link that may break. */
import { connect, createServer } from "node:net";
import { createNodeCalls } from "../../src/commands/node-calls.js";
import { exchange } from "../api/raw-http.js";
import { assert, suite } from "../suite.js";

const body = JSON.stringify({ call: "follow" });
const head = (length: number) =>
  `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`;

suite("calls between nodes", (test) => {
  test("a call that breaks off, or is too large, leaves the next ones as they are", async () => {
    const faults: Error[] = [];
    const deps = {
      followed: () => Promise.resolve(),
      onFault: (error: Error) => faults.push(error),
    };
    const calls = createNodeCalls(deps as never);
    const server = createServer((link) => calls.take(link.on("error", () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/`;
    const follow = async () => (await exchange(url, head(body.length) + body))[0]?.status;
    try {
      assert.is(await follow(), 200);
      await new Promise<void>((resolve) => {
        const link = connect(port, "127.0.0.1");
        link.on("error", () => undefined).on("close", () => resolve());
        link.write(head(body.length) + body.slice(0, 5), () => setTimeout(() => link.resetAndDestroy(), 50));
      });
      assert.is(await follow(), 200);
      const large = await exchange(url, head(3e6) + " ".repeat(3e6));
      assert.is(large[0]?.status, 400);
      assert.equal(await Promise.all([follow(), follow(), follow()]), [200, 200, 200]);
      assert.equal(faults, []);
    } finally {
      server.close();
    }
  });
});

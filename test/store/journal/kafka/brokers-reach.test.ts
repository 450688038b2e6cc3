/** Whether any broker answers: one link is kept, others are looked for when it is gone. */
import { createServer, type Server, type Socket } from "node:net";
import { type BrokersReach, createBrokersReach } from "../../../../store/journal/kafka/brokers-reach.js";
import { assert, rejects, suite, until } from "../../../suite.js";
import { startFakeBroker } from "./fake-broker.js";

suite("reach of the brokers", (test) => {
  const at = (port: number) => ({ host: "127.0.0.1", port });
  const reachOf = (...ports: readonly number[]): BrokersReach =>
    createBrokersReach({ brokers: ports.map(at), clientID: "test" });
  const start = () => startFakeBroker(() => "silence", "journal");

  /** Takes connections, and says nothing. */
  async function startSilent(): Promise<{ port: number; sockets: Set<Socket>; server: Server }> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => sockets.delete(socket));
      socket.resume();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { port: (server.address() as { port: number }).port, sockets, server };
  }

  test("one link carries all questions", async () => {
    const broker = await start();
    const reach = reachOf(broker.port);
    for (let asked = 0; asked < 5; asked++) await reach.ask();
    assert.is(broker.connections, 1);
    reach.close();
    await until(() => broker.open === 0, { what: "the link's end" });
    await rejects(() => reach.ask(), /it is closed/);
    await broker.close();
  });

  test("one broker of several is enough, and only its link stays", async () => {
    const [broker, gone, silent] = [await start(), await start(), await startSilent()];
    await gone.close();
    const reach = reachOf(silent.port, gone.port, broker.port);
    await reach.ask();
    await reach.ask();
    assert.is(broker.connections, 1);
    await until(() => silent.sockets.size === 0, { what: "the end of what has had no answer" });
    reach.close();
    await broker.close();
    silent.server.close();
  });

  test("a link that broke off is made again, and brokers that the cluster has named are asked as well", async () => {
    const [first, second] = [await start(), await start()];
    const reach = reachOf(first.port, second.port);
    await reach.ask();
    first.hangUp();
    second.hangUp();
    await reach.ask();
    await first.close();
    await reach.ask();
    await second.close();
    await rejects(() => reach.ask(), /cannot connect to broker 127\.0\.0\.1/);
    reach.close();
  });

  test("each of many brokers has its turn", async () => {
    const gone = await Promise.all(Array.from({ length: 6 }, start));
    for (const one of gone) await one.close();
    const broker = await start();
    const reach = reachOf(...gone.map(({ port }) => port), broker.port);
    await rejects(() => reach.ask(), /cannot connect/);
    await reach.ask();
    reach.close();
    await broker.close();
  });

  test("a broker that takes the connection and says nothing is none", async () => {
    const silent = await startSilent();
    const reach = reachOf(silent.port);
    await rejects(() => reach.ask(), /no answer within/);
    await until(() => silent.sockets.size === 0, { what: "the end of the link" });
    reach.close();
    silent.server.close();
  });
});

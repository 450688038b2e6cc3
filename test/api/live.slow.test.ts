import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { stallMs } from "../../src/http/event-stream.js";
import { type EventStream, openEventStream } from "../event-stream.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, type World, worldSuite } from "../world.js";

interface Event {
  readonly id: string;
  readonly data: { readonly dataPointID: string; readonly time: string | number; readonly value: unknown };
}

interface Feed extends EventStream {
  readonly events: readonly Event[];
}

async function listen(
  world: World,
  device: Rec,
  {
    query = "timeFormat=iso",
    last,
    key = world.first.apiKey,
  }: { query?: string; last?: string; key?: string } = {},
): Promise<Feed> {
  const events: Event[] = [];
  const url = `${world.http}/api/v1/devices/${device.id}/live?${query}`;
  const stream = await openEventStream(url, { key, last }, ({ id, data }) => {
    if (data !== undefined) events.push({ id: id ?? "", data: JSON.parse(data) });
  });
  // Its state is in getters, which a spread would freeze.
  return Object.create(stream, { events: { value: events } }) as Feed;
}

const arrived = (feed: Feed, count: number) =>
  until(() => feed.events.length >= count && feed.events, {
    what: `${count} events, have ${feed.events.length}`,
  });
const values = (feed: Feed) => feed.events.map(({ data }) => data.value);

worldSuite("live feed of a device", (test, world) => {
  async function station() {
    const product = await makeProduct(world);
    await makeDataPoint(world, product, { dataPointID: "temp" });
    await makeDataPoint(world, product, { dataPointID: "on", pointDataType: 5 });
    await makeDataPoint(world, product, { dataPointID: "place", pointDataType: 6 });
    await makeDataPoint(world, product, { dataPointID: "note", pointDataType: 3 });
    return { product, device: await makeDevice(world, product), other: await makeDevice(world, product) };
  }

  test("sends each new point of the device in its own form, with the time as requested", async () => {
    const { product, device, other } = await station();
    await world.publish(device, { temp: 0 });
    const feed = await listen(world, device);
    assert.is(feed.status, 200);
    assert.match(feed.headers.get("content-type") ?? "", /^text\/event-stream/);
    assert.is(feed.headers.get("cache-control"), "no-store");
    const local = await listen(world, device, { query: "timezone=Asia/Shanghai" });
    await world.publish(other, { temp: 99 });
    await world.publish(
      device,
      { time: "2025-06-01T00:00:00.000001Z", temp: 1.5, on: true, place: [1, 2], note: "a\n\nb\r" },
      { time: "2025-06-01T00:00:01Z", temp: 2 },
    );
    await arrived(feed, 5);
    assert.equal(feed.events[0]?.data, {
      dataPointID: "temp",
      time: "2025-06-01T00:00:00.000001Z",
      value: 1.5,
    });
    assert.equal(values(feed), [1.5, true, [1, 2], "a\n\nb\r", 2]);
    assert.match(feed.text, /^retry: \d+\n\n/);
    await arrived(local, 5);
    assert.is(local.events[0]?.data.time, "2025-06-01 08:00:00");
    // A data point that comes while the feed is open.
    await makeDataPoint(world, product, { dataPointID: "late" });
    await world.publish(device, { late: 7 });
    await arrived(feed, 6);
    assert.equal(feed.events[5]?.data.dataPointID, "late");
    for (const one of [feed, local]) one.close();
  });

  test("who comes back with Last-Event-ID gets what he missed: once, and also from before a restart", async () => {
    const { device } = await station();
    const feed = await listen(world, device);
    await world.publish(device, { time: "2025-06-01T00:00:00Z", temp: 1 });
    await arrived(feed, 1);
    feed.close();
    await world.publish(
      device,
      { time: "2025-06-01T00:00:02Z", temp: 3 },
      { time: "2025-05-01T00:00:00Z", temp: 2 },
    );
    const last = feed.events[0]?.id ?? "";
    const again = await listen(world, device, { last });
    await world.publish(device, { time: "2025-06-01T00:00:03Z", temp: 4 });
    await arrived(again, 3);
    assert.equal(values(again), [3, 2, 4]);
    again.close();

    const elsewhere = await listen(world, device, { last: last.replace(/^[^.]+/, "otherrun") });
    await arrived(elsewhere, 2);
    await world.publish(device, { time: "2025-06-01T00:00:04Z", temp: 5 });
    await arrived(elsewhere, 3);
    assert.equal(values(elsewhere), [3, 4, 5], "by time, from the store");
    elsewhere.close();

    for (const nonsense of ["", "x", "1.2", "a.b.c", `${"9".repeat(400)}.1.1`]) {
      const fresh = await listen(world, device, { last: nonsense });
      assert.is(fresh.status, 200);
      fresh.close();
    }
  });

  test("is for callers who may read the device, and errors are reported", async () => {
    const { device } = await station();
    const path = `/api/v1/devices/${device.id}/live`;
    refused(await world.call("GET", path, undefined, { key: null }), "AUTH_FAILED");
    refused(await world.call("GET", path, undefined, { key: await world.otherTenant() }), "DATA_NOT_FOUND");
    refused(await world.call("GET", "/api/v1/devices/999999/live"), "DATA_NOT_FOUND");
    refused(await world.call("GET", `${path}?timeFormat=x`), "PARAMETER_INVALID", "timeFormat");
    refused(await world.call("GET", `${path}?timezone=Mars/X`), "PARAMETER_INVALID", "timezone");
    const accept = { headers: { Accept: "text/csv" } };
    refused(await world.call("GET", path, undefined, accept), "NOT_ACCEPTABLE");
    assert.is((await world.call("HEAD", path)).status, 200);
    const viewer = await listen(world, device, { key: await world.keyOf("viewer") });
    assert.is(viewer.status, 200);
    viewer.close();
  });

  test("a key that is withdrawn ends its feed, however much there is to send", async () => {
    const { device } = await station();
    const made = await world.make("/api/v1/api_keys", { name: "wall", role: "viewer" });
    const feed = await listen(world, device, { key: `${made.appID}:${made.appSecret}` });
    assert.is(feed.status, 200);
    assert.is((await world.call("DELETE", `/api/v1/api_keys?ids=${made.id}`)).status, 204);
    await until(
      async () => {
        await world.publish(device, { temp: 1 });
        await new Promise((resolve) => setTimeout(resolve, 300));
        return feed.ended;
      },
      { what: "the feed to end", timeoutMs: 40_000 },
    );
    assert.ok(feed.events.length > 3, `${feed.events.length} events`);
  });

  test("a client that leaves frees its place: a thousand come and go", async () => {
    const { device } = await station();
    for (let round = 0; round < 30; round++) {
      const feeds = await Promise.all(Array.from({ length: 40 }, () => listen(world, device)));
      const told = feeds.map((one) => one.status).filter((status) => status !== 200);
      assert.equal(told, [], `round ${round}`);
      if (round === 0) assert.match(await openFeeds(), /^tidemark_live_feeds (4\d|[5-9]\d)$/);
      for (const one of feeds) one.close();
    }
    await until(async () => (await openFeeds()) === "tidemark_live_feeds 0", { what: "no feed to be open" });
  });

  async function openFeeds(): Promise<string> {
    const { text } = await world.call("GET", "/metrics");
    return /^tidemark_live_feeds .*$/m.exec(text)?.[0] ?? "";
  }

  test("long texts come whole, however many chunks they take, and characters beyond ASCII too", async () => {
    const { device } = await station();
    const feed = await listen(world, device);
    const long = ["\u0001".repeat(40_000), "温🌡é\u0000".repeat(6_000), "x"];
    await world.publish(device, ...long.map((note) => ({ note })));
    await arrived(feed, 3);
    assert.equal(values(feed), long);
    assert.match(feed.headers.get("content-type") ?? "", /event-stream/);
    feed.close();
    const again = await listen(world, device, { last: "otherrun.1.0" });
    await arrived(again, 3);
    assert.equal(values(again), long, "from the store as well");
    again.close();
  });

  test("no more stored points are sent again than a feed may hold, the newest ones", async () => {
    const { device } = await station();
    const notes = Array.from({ length: 100 }, (_, i) => `${i} ${"x".repeat(30_000)}`);
    await world.publish(device, ...notes.map((note, i) => ({ note, temp: i, time: 1_700_000_000 + i })));
    const feed = await listen(world, device, { last: "otherrun.1.0" });
    // What is stored while the store is read may come twice.
    await until(() => values(feed).includes(99), { what: "what was stored" });
    await world.publish(device, { temp: -1 });
    await until(() => values(feed).at(-1) === -1, { what: "the newest point" });
    const told = values(feed).filter((value) => typeof value === "string");
    assert.ok(told.length > 3 && told.length < 36, `${told.length} notes`);
    assert.equal(told, notes.slice(-told.length));
    assert.is(values(feed).length, told.length + 101, "and every number");
    feed.close();
  });

  const letGo = "tidemark_live_feeds_let_go_total";
  /** The service's ends of the connections of readers that pause. */
  const pausing: Duplex[] = [];
  const remember = (message: unknown): void => {
    const { request } = message as { readonly request: IncomingMessage };
    if (request.headers["x-pauses"] !== undefined) pausing.push(request.socket);
  };
  test.before(() => subscribe("http.server.request.start", remember));
  test.after(() => void unsubscribe("http.server.request.start", remember));

  test("readers that pause hold no more than their device may, and are broken off", async () => {
    const { device } = await station();
    await until(async () => (await gauge("tidemark_live_feeds")) === 0, { what: "no feed to be open" });
    const endedBefore = await gauge(letGo);
    const sockets = await Promise.all(Array.from({ length: 6 }, () => paused(device)));
    const note = "x".repeat(60_000);
    let most = 0;
    // A third of what the device may hold at once: a client that reads does not fall behind, however busy the machine
    // is, so all of these end because their connections are full.
    for (let round = 0; round < 100 && (await gauge(letGo)) < endedBefore + 6; round++) {
      await world.publish(
        device,
        ...Array.from({ length: 5 }, (_, i) => ({ note: `${round} ${i} ${note}` })),
      );
      most = Math.max(most, await gauge("tidemark_live_held_bytes"));
    }
    // One log, and of each feed what is on its way.
    assert.ok(most <= (1 << 20) + 6 * 2 * (64 << 10), `${most} bytes`);
    assert.is(await gauge(letGo), endedBefore + 6);
    assert.is(await gauge("tidemark_live_feeds"), 0);
    assert.is(pausing.length, sockets.length);
    await until(() => pausing.every(({ destroyed }) => destroyed), {
      what: "the service to break the connections off",
      timeoutMs: 3 * stallMs,
    });
    const tails = new Map(sockets.map((socket) => [socket, ""]));
    for (const socket of sockets)
      socket.on("data", (bytes) => tails.set(socket, bytes.toString("latin1"))).resume();
    await until(() => sockets.every((socket) => socket.closed), { what: "the connections to end" });
    const whole = [...tails.values()].filter((tail) => tail.endsWith("0\r\n\r\n"));
    assert.equal(whole, [], "broken off, not sent to the end");
  });

  /** A client of the feed that reads its first line and then no more. */
  async function paused(device: Rec): Promise<Socket> {
    const { hostname, port } = new URL(world.http);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.write(
      `GET /api/v1/devices/${device.id}/live HTTP/1.1\r\nHost: x\r\nX-Pauses: yes\r\nAuthorization: Bearer ${world.first.apiKey}\r\n\r\n`,
    );
    await once(socket, "data");
    socket.pause();
    return socket;
  }

  async function gauge(name: string): Promise<number> {
    const { text } = await world.call("GET", "/metrics");
    return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
  }

  test("feeds end with the service, at once", async () => {
    const { device } = await station();
    // The world closes with these open: it must not wait for them.
    await Promise.all(Array.from({ length: 3 }, () => listen(world, device)));
  });
});

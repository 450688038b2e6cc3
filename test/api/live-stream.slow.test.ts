import { makeDataPoint, makeDevice, makeGroup, makeProduct } from "../factories.js";
import { arrived, type LiveStream, named, openLiveStream, pointsArrived, pointsOf } from "../live/streams.js";
import { assert, until } from "../suite.js";
import { refused, type World, worldSuite } from "../world.js";

const listen = (
  world: World,
  query: string,
  { last, key = world.first.apiKey }: { last?: string; key?: string } = {},
): Promise<LiveStream> => openLiveStream(world.http, key, query, last);

worldSuite("live stream of a tenant", (test, world) => {
  let made = 0;
  async function station() {
    const product = await makeProduct(world);
    const temp = await makeDataPoint(world, product, { dataPointID: "temp", upperLimit: 50 });
    await makeDataPoint(world, product, { dataPointID: "note", pointDataType: 3 });
    await makeDataPoint(world, product, { dataPointID: "place", pointDataType: 6 });
    const device = await makeDevice(world, product, {
      deviceID: `\u{1f600}'"${String(++made).padStart(60, "x")}`,
    });
    return { product, temp, device, other: await makeDevice(world, product) };
  }

  test("a first message with a wrong key shows: presence, the message with its reason, its points", async () => {
    const { device, other, temp } = await station();
    const stream = await listen(world, `deviceID=${encodeURIComponent(String(device.deviceID))}`);
    assert.is(stream.status, 200);
    assert.match(stream.headers.get("content-type") ?? "", /^text\/event-stream/);
    const [hello] = await arrived(stream, "hello", 1);
    assert.is(hello?.id, stream.lastID);
    assert.type(hello?.time, "number");
    await world.publish(other, { temp: 99 });
    const time = 1_750_000_000_000.25;
    const payload = { time, temp: 1.5, "tmp\u0000'": 2, note: 'a\n\nb"', place: [1, 2] };
    await world.publish(device, payload);
    const [message] = await arrived(stream, "message", 1);
    assert.type(message?.eventID, "number");
    assert.equal(message, {
      deviceIntID: device.id,
      deviceID: device.deviceID,
      deviceName: device.deviceName,
      eventID: message?.eventID,
      topic: "data",
      bytes: Buffer.byteLength(JSON.stringify(payload)),
      time: message?.time,
      points: 3,
      refused: [{ reason: "unknown", key: "tmp\u0000'", count: 1 }],
    });
    const told = await pointsArrived(stream, 3);
    const owner = { deviceIntID: device.id, deviceID: device.deviceID, time };
    assert.equal(
      told.find(({ dataPointID }) => dataPointID === "temp"),
      { ...owner, dataPointIntID: temp.id, dataPointID: "temp", value: 1.5 },
    );
    assert.equal(
      told.map(({ value }) => value),
      [1.5, 'a\n\nb"', [1, 2]],
    );
    const presence = await arrived(stream, "presence", 2);
    assert.equal(
      presence.map(({ deviceIntID, deviceID, deviceStatus }) => [deviceIntID, deviceID, deviceStatus]),
      [
        [device.id, device.deviceID, 1],
        [device.id, device.deviceID, 0],
      ],
    );
    assert.is(named(stream, "message").length, 1, "nothing of the other device");
    stream.close();
  });

  test("alerts that begin and end, by a value and by hand, and commands with their receipts", async () => {
    const { device } = await station();
    // Events of other tests may arrive a little later than they are written.
    const own = encodeURIComponent(String(device.deviceID));
    const stream = await listen(world, `topics=alerts,commands&deviceID=${own}`);
    await arrived(stream, "hello", 1);
    await world.publish(device, { temp: 60 });
    const [began] = await arrived(stream, "alert", 1);
    assert.equal([began?.deviceID, began?.state, began?.alertSeverity], [device.deviceID, "began", 2]);
    await world.publish(device, { temp: 10 });
    const alerts = await arrived(stream, "alert", 2);
    assert.equal([alerts[1]?.id, alerts[1]?.state], [began?.id, "ended"]);
    assert.ok((alerts[1]?.time as number) >= (began?.time as number));
    await world.publish(device, { temp: 61 });
    const again = (await arrived(stream, "alert", 3))[2];
    await world.call("DELETE", `/api/v1/current_alerts?ids=${again?.id}`);
    assert.equal((await arrived(stream, "alert", 4))[3]?.state, "ended");

    const client = await world.connect(device);
    await world.make("/api/v1/device_publish", { deviceIntID: device.id, payload: "on" });
    const commands = await until(
      () => {
        const all = named(stream, "command");
        return all.some(({ publishStatus }) => publishStatus === 2) && all;
      },
      { what: "the receipt" },
    );
    assert.ok(commands.every(({ deviceIntID }) => deviceIntID === device.id));
    assert.is(new Set(commands.map(({ id }) => id)).size, 1);
    await client.endAsync();
    assert.equal(named(stream, "message").length + named(stream, "presence").length, 0, "not asked for");
    stream.close();
  });

  test("fifty of many messages a second are sent, and the number of those that were not", async () => {
    const { device } = await station();
    const stream = await listen(world, "topics=messages");
    await arrived(stream, "hello", 1);
    await world.publish(device, ...Array.from({ length: 500 }, (_, i) => ({ temp: i })));
    const total = () =>
      named(stream, "message").length +
      named(stream, "skipped").reduce((sum, { skipped }) => sum + Number(skipped), 0);
    await until(() => total() === 500, { what: "all messages" });
    assert.ok(named(stream, "skipped").length > 0);
    stream.close();
  });

  test("who comes back gets what was missed, or hears of a gap", async () => {
    const { device } = await station();
    const query = `topics=points,messages&deviceID=${encodeURIComponent(String(device.deviceID))}`;
    const stream = await listen(world, query);
    await arrived(stream, "hello", 1);
    await world.publish(device, { temp: 1 });
    await pointsArrived(stream, 1);
    const { lastID } = await until(() => named(stream, "message").length === 1 && stream, { what: "it" });
    await until(() => stream.lastID !== named(stream, "hello")[0]?.id, { what: "its id" });
    stream.close();
    await world.publish(device, { temp: 2 }, { temp: 3 });
    const again = await listen(world, query, { last: stream.lastID });
    const missed = await pointsArrived(again, 2);
    assert.equal(
      missed.map(({ value }) => value).filter((value) => value !== 1),
      [2, 3],
    );
    assert.equal(named(again, "gap"), []);
    again.close();
    assert.ok(lastID);
    const others = [
      stream.lastID.replace(/^[^.]+/, "otherrun"),
      `${stream.lastID}x`,
      "nonsense",
      `${"9".repeat(400)}.1.1`,
    ];
    for (const last of others) {
      const fresh = await listen(world, query, { last });
      await arrived(fresh, "gap", 1);
      fresh.close();
    }
    const elsewhere = await listen(world, "topics=messages", { last: stream.lastID });
    await arrived(elsewhere, "gap", 1);
    elsewhere.close();
  });

  test("the points of a group are those of its members, as they come and go", async () => {
    const { product, device, other } = await station();
    const group = await makeGroup(world, product);
    const stream = await listen(world, `topics=points&groupID=${group.groupID}`);
    await arrived(stream, "hello", 1);
    await world.publish(device, { temp: 1 });
    const members = `/api/v1/groups/${group.id}/devices`;
    await world.call("POST", members, { ids: [device.id, other.id] });
    let sent = 1;
    await until(
      async () => {
        await world.publish(device, { temp: ++sent });
        return pointsOf(stream).length > 0;
      },
      { what: "points of the new member" },
    );
    assert.ok(pointsOf(stream).every(({ value }) => value !== 1));
    await world.call("DELETE", `${members}?ids=${device.id}`);
    let seen = -1;
    await until(
      async () => {
        const before = pointsOf(stream).length;
        const wasSeen = seen;
        await world.publish(device, { temp: ++sent });
        await world.publish(other, { temp: 1000 + sent });
        await until(() => pointsOf(stream).some(({ value }) => value === 1000 + sent), { what: "it" });
        seen = pointsOf(stream).length - before;
        return wasSeen === 1 && seen === 1;
      },
      { what: "an end of the former member's points" },
    );
    assert.is(stream.ended, false);
    stream.close();
  });

  test("nothing of another tenant is sent", async () => {
    const { device, other } = await station();
    const key = await world.otherTenant();
    const theirs = await listen(world, "topics=messages,presence,alerts,commands", { key });
    const viewer = await listen(world, "", { key: await world.keyOf("viewer") });
    await arrived(theirs, "hello", 1);
    await arrived(viewer, "hello", 1);
    await world.publish(device, { temp: 60 });
    await world.publish(other, { temp: 60 });
    await arrived(viewer, "alert", 2);
    await arrived(viewer, "message", 2);
    assert.equal(pointsOf(viewer), [], "points need devices");
    assert.equal(
      theirs.events.map(({ event }) => event),
      ["hello"],
    );
    for (const query of [`deviceID=${device.deviceID}`, "groupID=none", "deviceID=none"]) {
      refused(
        await world.call("GET", `/api/v1/live?${encodeURI(query)}`, undefined, { key }),
        "DATA_NOT_FOUND",
      );
    }
    theirs.close();
    viewer.close();
  });

  test("the figures of the overview come each second, whatever the devices, and of the own tenant alone", async () => {
    const { device, other } = await station();
    const query = `topics=overview&deviceID=${encodeURIComponent(String(other.deviceID))}`;
    const [ours, theirs] = [
      await listen(world, query),
      await listen(world, "topics=overview", { key: await world.otherTenant() }),
    ];
    const [first] = await arrived(ours, "overview", 1);
    const { deployment, ...asked } = (await world.call("GET", "/api/v1/overview")).record;
    assert.equal(Object.keys(first ?? {}), Object.keys(asked), "the keys of the answer, in their order");
    assert.ok(deployment, "of an administrator of the deployment");
    assert.equal(first?.devices, asked.devices);
    const ratesOf = (told: Readonly<Record<string, unknown>> | undefined) =>
      told?.rates as Readonly<Record<string, readonly number[]>> | undefined;
    const isQuiet = () => ratesOf(named(ours, "overview").at(-1))?.points?.at(-1) === 0;
    await until(isQuiet, { what: "a second without points of the tests before" });
    await world.publish(device, { temp: 1 });
    const counted = () =>
      named(ours, "overview").some((told) => {
        const { messages, points } = ratesOf(told) ?? {};
        assert.equal([messages?.length, points?.length], [10, 10]);
        return points?.includes(1);
      });
    await until(counted, { what: "the point among the rates" });
    const before = named(ours, "overview").length;
    const startedAt = performance.now();
    await arrived(ours, "overview", before + 3);
    assert.ok(performance.now() - startedAt > 1500, "once a second");
    const [ofOthers] = await arrived(theirs, "overview", 1);
    assert.equal(
      (ofOthers?.devices as Record<string, number> | undefined)?.total,
      0,
      "no device of the other tenant is counted",
    );
    for (const one of [ours, theirs]) one.close();
  });

  test("errors in the query are reported; HEAD opens nothing", async () => {
    const { other } = await station();
    const wrong: readonly (readonly [query: string, field: string])[] = [
      ["topics=all", "topics"],
      ["topics=points", "topics"],
      ["topics=messages,,alerts", "topics"],
      [`deviceID=${other.deviceID},`, "deviceID"],
      [`deviceID=${Array.from({ length: 101 }, (_, i) => `d${i}`)}`, "deviceID"],
      [`deviceID=${other.deviceID}&groupID=x`, "groupID"],
    ];
    for (const [query, field] of wrong)
      refused(await world.call("GET", `/api/v1/live?${query}`), "PARAMETER_INVALID", field);
    refused(await world.call("GET", "/api/v1/live", undefined, { key: null }), "AUTH_FAILED");
    const head = await world.call("HEAD", "/api/v1/live?topics=alerts");
    assert.equal([head.status, head.text], [200, ""]);
  });

  test("a tenant has 250 streams and no more", async () => {
    const streams: LiveStream[] = [];
    for (let i = 0; i < 250; i++) streams.push(await listen(world, "topics=presence"));
    refused(await world.call("GET", "/api/v1/live?topics=presence"), "RESOURCE_LIMITED");
    const theirs = await listen(world, "topics=presence", { key: await world.otherTenant() });
    assert.is(theirs.status, 200);
    for (const one of [...streams, theirs]) one.close();
    await until(
      async () => {
        const next = await listen(world, "topics=presence");
        next.close();
        return next.status === 200;
      },
      { what: "a free place again" },
    );
  });
});

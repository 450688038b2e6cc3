import { makeDevice, makeGateway, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const keys = ["id", "deviceID", "deviceName", "IP", "topic", "payload", "msgTime", "createAt", "updateAt"];

worldSuite("events", (test, world) => {
  let product: Rec | undefined;
  const device = async (): Promise<Rec> => {
    product ??= await makeProduct(world);
    return makeDevice(world, product);
  };
  const send = async (from: Rec, ...messages: readonly (readonly [string, string | Uint8Array])[]) => {
    const client = await world.connect(from);
    for (const [topic, payload] of messages) {
      await client.publishAsync(topic, Buffer.from(payload), { qos: 1 });
    }
    await client.endAsync();
  };
  const list = (path: string, query = "") => world.call("GET", `/api/v1/${path}?${query}`);

  test("every message is an event, newest first, on its device and account-wide", async () => {
    const from = await device();
    await send(from, ["a", "1"], ["b/温度", "not json"], ["a", "3"]);
    const { page } = await list(`devices/${from.id}/events`);
    assert.equal(page.meta, { count: 3, limit: 10, page: 1 });
    assert.equal(
      page.items.map(({ topic, payload }) => [topic, payload]),
      [
        ["a", "3"],
        ["b/温度", "not json"],
        ["a", "1"],
      ],
    );
    const [newest] = page.items;
    hasKeys(newest, keys);
    assert.equal(
      [newest?.deviceID, newest?.deviceName, newest?.IP],
      [from.deviceID, from.deviceName, "127.0.0.1"],
    );
    assert.equal([newest?.msgTime, newest?.updateAt], [newest?.createAt, null]);
    assert.match(String(newest?.msgTime), stampPattern);
    const all = await list("device_events", `deviceID=${from.deviceID}`);
    assert.equal(all.page.items, page.items);
    const byName = await list(`devices/${from.deviceID}/events`, "_limit=1&_page=2");
    assert.equal([byName.page.items[0]?.payload, byName.page.meta.count], ["not json", 3]);
  });

  test("a payload that is no text is base64", async () => {
    const from = await device();
    await send(from, ["x", Uint8Array.of(0xff, 0)], ["x", "a\u0000b"], ["x", ""], ["x", "🦉"]);
    const { page } = await list(`devices/${from.id}/events`);
    assert.equal(
      page.items.map((item) => item.payload),
      ["🦉", "", "base64:YQBi", "base64:/wA="],
    );
  });

  test("filters by topic, deviceID and deviceName", async () => {
    const [one, other] = [await device(), await device()];
    await send(one, ["Room/1", "1"], ["room_2", "2"]);
    await send(other, ["Room/1", "3"]);
    const payloads = async (query: string) =>
      (await list("device_events", query)).page.items.map((item) => item.payload);
    const own = `deviceName=${one.deviceName}`;
    assert.equal(await payloads(own), ["2", "1"]);
    assert.equal(await payloads(`${own}&topic=Room/1`), ["1"]);
    const { id } = (await list("device_events", `${own}&topic=Room/1`)).page.items[0] ?? {};
    assert.equal(await payloads(`id=${id}`), ["1"]);
    assert.equal(await payloads(`${own}&topic_like=ROOM`), ["2", "1"]);
    assert.equal(await payloads(`${own}&topic_like=_`), ["2"]);
    assert.equal(await payloads(`topic_like=room&deviceID_like=${String(other.deviceID).toUpperCase()}`), [
      "3",
    ]);
    assert.equal(await payloads(`${own}&IP=10.0.0.1`), []);
    assert.equal(await payloads("deviceID=nobody"), []);
    assert.ok((await payloads("deviceID=&topic_like=&unknown=1")).length >= 3);
    for (const text of ["'--", "%F0%9F%A6%89", "%E0%A4%A", "x".repeat(256)]) {
      assert.equal(await payloads(`deviceName_like=${text}`), []);
      assert.equal(await payloads(`topic_like=${text}`), []);
    }
    for (const field of ["deviceName", "topic", "payload"])
      refused(
        await list("device_events", `${field}_like=${"x".repeat(257)}`),
        "PARAMETER_INVALID",
        `${field}_like`,
      );
    refused(await list("device_events", "_limit=1001"), "PARAMETER_INVALID", "_limit");
    refused(await list(`devices/${one.id}/events`, "_page=0"), "PARAMETER_INVALID", "_page");
  });

  test("Variant B names the product in the account-wide list", async () => {
    const from = await device();
    await send(from, ["b", "hello"]);
    const headers = { "Api-Variant": "B" };
    const b = (path: string, query = "") =>
      world.call("GET", `/api/v1/${path}?${query}`, undefined, { headers });
    const [event] = (await b("device_events", `deviceID=${from.deviceID}`)).page.items;
    hasKeys(event, [...keys, "productName"]);
    assert.is(event?.productName, product?.productName);
    const named = `productName=${product?.productName}&payload_like=HELL`;
    assert.equal((await b("device_events", named)).page.items[0], event);
    assert.equal((await b("device_events", "productName=none")).page.items, []);
    hasKeys((await b(`devices/${from.id}/events`)).page.items[0], keys);
  });

  test("Variant B goes on to name the product of a deleted device, and a deleted product by its last name", async () => {
    const own = await makeProduct(world);
    const from = await makeDevice(world, own);
    await send(from, ["c", "farewell"]);
    await world.call("DELETE", `/api/v1/devices?ids=${from.id}`);
    const names = async (query: string) =>
      (
        await world.call("GET", `/api/v1/device_events?${query}`, undefined, {
          headers: { "Api-Variant": "B" },
        })
      ).page.items.map(({ productName }) => productName);
    const ofDevice = `deviceID=${from.deviceID}`;
    assert.equal(await names(ofDevice), [own.productName]);
    const renamed = `${own.productName} II`;
    await world.call("PUT", `/api/v1/products/${own.id}`, { productName: renamed });
    assert.equal(await names(ofDevice), [renamed]);
    assert.equal(await names(`productName=${encodeURIComponent(renamed)}`), [renamed]);
    assert.equal(await names(`productName=${own.productName}`), []);
    const { status } = await world.call("DELETE", `/api/v1/products?ids=${own.id}`);
    assert.is(status, 204);
    assert.equal(await names(ofDevice), [renamed]);
    assert.equal(await names(`productName_like=${encodeURIComponent(renamed)}`), [renamed]);
  });

  test("a gateway's events carry gatewayName", async () => {
    product ??= await makeProduct(world);
    const gateway = await makeGateway(world, product);
    await send(gateway, ["up", "1"], ["down", "2"]);
    for (const id of [gateway.id, gateway.deviceID]) {
      const { page } = await list(`gateways/${id}/events`, `gatewayName=${gateway.gatewayName}`);
      assert.equal(
        page.items.map((item) => [item.payload, item.gatewayName]),
        [
          ["2", gateway.gatewayName],
          ["1", gateway.gatewayName],
        ],
      );
      hasKeys(
        page.items[0],
        keys.map((key) => (key === "deviceName" ? "gatewayName" : key)),
      );
    }
    assert.is((await list(`gateways/${gateway.id}/events`, "topic=up")).page.meta.count, 1);
    assert.is((await list(`gateways/${gateway.id}/events`, "gatewayName=other")).page.meta.count, 0);
    const [asDevice] = (await list("device_events", `deviceName=${gateway.gatewayName}`)).page.items;
    assert.is(asDevice?.payload, "2");
    const from = await device();
    refused(await list(`gateways/${from.id}/events`), "DATA_NOT_FOUND");
  });

  test("events of a deleted device stay, with its last name; of another tenant they are not there", async () => {
    const from = await device();
    await send(from, ["bye", "last words"]);
    const key = await world.otherTenant();
    refused(
      await world.call("GET", `/api/v1/devices/${from.id}/events`, undefined, { key }),
      "DATA_NOT_FOUND",
    );
    const elsewhere = await world.call("GET", "/api/v1/device_events", undefined, { key });
    assert.equal(elsewhere.page, { items: [], meta: { count: 0, limit: 10, page: 1 } });
    await world.call("DELETE", `/api/v1/devices?ids=${from.id}`);
    const kept = (await list("device_events", `deviceID=${from.deviceID}`)).page.items;
    assert.equal([kept.length, kept[0]?.deviceName], [1, from.deviceName]);
    refused(await list(`devices/${from.id}/events`), "DATA_NOT_FOUND");
    for (const id of unknownIDs) refused(await list(`devices/${id}/events`), "DATA_NOT_FOUND");
  });

  test("a connected device shows where from and since when, and is offline when it has gone", async () => {
    const from = await device();
    const client = await world.connect(from);
    const detail = async () => (await world.call("GET", `/api/v1/devices/${from.id}`)).record;
    const online = await until(async () => (await detail()).deviceStatus === 1 && detail(), {
      what: "online",
    });
    assert.equal([online.deviceStatusLabel, online.clientIP, online.keepAlive], ["在线", "127.0.0.1", 60]);
    assert.match(String(online.connectedAt), stampPattern);
    await client.endAsync();
    const offline = await until(async () => (await detail()).deviceStatus === 0 && detail(), {
      what: "offline",
    });
    assert.equal([offline.deviceStatusLabel, offline.clientIP, offline.updateAt], ["离线", null, null]);
  });

  test("a viewer reads events, nobody does not", async () => {
    const key = await world.keyOf("viewer");
    assert.is((await world.call("GET", "/api/v1/device_events", undefined, { key })).status, 200);
    refused(await world.call("GET", "/api/v1/device_events", undefined, { key: null }), "AUTH_FAILED");
  });
});

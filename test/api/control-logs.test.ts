import { makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

worldSuite("control logs", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });
  const publish = async (to: Rec, payload: string, topic = "inbox"): Promise<void> => {
    const { status, text } = await world.call("POST", "/api/v1/device_publish", {
      deviceID: to.deviceID,
      payload,
      topic,
    });
    assert.is(status, 201, text);
  };
  const list = (path: string, query = "", options = {}) =>
    world.call("GET", `/api/v1/${path}?${query}`, undefined, options);
  const payloads = async (path: string, query: string) =>
    (await list(path, query)).page.items.map((item) => item.payload);

  test("account-wide and of one device, newest first, the same in both variants", async () => {
    const device = await makeDevice(world, product);
    for (const n of [1, 2, 3]) await publish(device, String(n));
    const own = (await list(`devices/${device.id}/control_logs`)).page;
    assert.equal(own.meta, { count: 3, limit: 10, page: 1 });
    assert.equal(
      own.items.map((item) => item.payload),
      ["3", "2", "1"],
    );
    assert.match(String(own.items[0]?.createAt), stampPattern);
    const all = await list("device_control_logs", "_limit=2&_page=1");
    assert.equal(all.page.items, own.items.slice(0, 2));
    assert.is(all.headers.get("truncated"), null);
    for (const path of ["device_control_logs", `devices/${device.deviceID}/control_logs`]) {
      const b = await list(path, `deviceID=${device.deviceID}`, { headers: { "Api-Variant": "B" } });
      assert.equal(b.page.items, own.items);
    }
  });

  test("filters", async () => {
    const [one, other] = [await makeDevice(world, product), await makeDevice(world, product)];
    await publish(one, "Alpha", "Room/1");
    await publish(one, "beta", "room_2");
    await publish(other, "gamma", "Room/1");
    const all = "device_control_logs";
    const own = `deviceName=${one.deviceName}`;
    assert.equal(await payloads(all, own), ["beta", "Alpha"]);
    assert.equal(await payloads(all, `deviceID_like=${String(one.deviceID).toUpperCase()}`), [
      "beta",
      "Alpha",
    ]);
    assert.equal(await payloads(all, `deviceIntID=${other.id}`), ["gamma"]);
    const { id } = (await world.call("GET", `/api/v1/${all}?${own}&topic=Room/1`)).page.items[0] ?? {};
    assert.equal(await payloads(all, `id=${id}`), ["Alpha"]);
    assert.equal(await payloads(all, `id=${id}&${own}`), ["Alpha"]);
    assert.equal(await payloads(all, `id=${id}&topic=room_2`), []);
    assert.equal(await payloads(all, `id=${id}&deviceIntID=${other.id}`), []);
    assert.equal(await payloads(all, `${own}&topic=Room/1`), ["Alpha"]);
    assert.equal(await payloads(all, `${own}&topic_like=ROOM`), ["beta", "Alpha"]);
    assert.equal(await payloads(all, `${own}&topic_like=_`), ["beta"]);
    assert.equal(await payloads(all, `${own}&payload_like=ALPH`), ["Alpha"]);
    assert.equal(await payloads(all, `payload=gamma`), ["gamma"]);
    assert.equal(await payloads(all, `${own}&publishStatus=0&publishUser=admin&publishUser_like=DMI`), [
      "beta",
      "Alpha",
    ]);
    assert.equal(await payloads(all, `${own}&publishStatus=1`), []);
    assert.equal(await payloads(all, "deviceID=nobody"), []);
    assert.equal(await payloads(`devices/${one.id}/control_logs`, `deviceName=${other.deviceName}`), []);
    assert.equal(await payloads(`devices/${one.id}/control_logs`, "topic_like=room_"), ["beta"]);
    for (const text of ["'--", "%F0%9F%A6%89", "%E0%A4%A", "%00", "x".repeat(256)]) {
      for (const field of ["deviceName", "deviceID", "topic", "payload", "publishUser"]) {
        assert.is((await list(all, `${field}_like=${text}`)).status, 200);
      }
    }
    refused(await list(all, "publishStatus=x"), "PARAMETER_INVALID", "publishStatus");
    refused(await list(all, "_limit=1001"), "PARAMETER_INVALID", "_limit");
    assert.equal(await payloads(all, "_page=100000"), []);
  });

  test("of a gateway: the object where the text is one", async () => {
    const gateway = await makeGateway(world, product);
    const sent = {
      channel: [{ chnno: 1, device: [] }],
      func: 2,
      kbid: "k",
      message: [],
      object: [{ objix: 1 }],
    };
    for (const payload of [JSON.stringify(sent), "[1]", "{not json", "null"]) await publish(gateway, payload);
    const { page } = await list(`gateways/${gateway.id}/control_logs`);
    assert.equal(
      page.items.map((item) => item.payload),
      ["null", "{not json", "[1]", sent],
    );
    const own = ["createUser", "deviceIntID", "id", "createAt", "payload"];
    const beyond = ["publishStatus", "publishStatusLabel", "topic", "updateAt", "userIntID"];
    for (const item of page.items) hasKeys(item, [...own, ...beyond]);
    assert.equal([page.items[0]?.topic, page.items[0]?.publishStatusLabel], ["inbox", "下发失败"]);
    assert.equal([page.items[0]?.createUser, page.items[0]?.deviceIntID], ["admin", gateway.id]);
    assert.equal(
      await payloads(`gateways/${gateway.id}/control_logs`, "payload_like=NULL&createUser=admin"),
      ["null"],
    );
    const asDevice = (await list(`devices/${gateway.id}/control_logs`)).page.items[0];
    assert.equal([asDevice?.deviceName, asDevice?.payload], [gateway.gatewayName, "null"]);
    const device = await makeDevice(world, product);
    refused(await list(`gateways/${device.id}/control_logs`), "DATA_NOT_FOUND");
  });

  test("of a gateway: an object too deep to be answered is its text", async () => {
    const gateway = await makeGateway(world, product);
    const deep = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    await publish(gateway, deep);
    assert.equal(await payloads(`gateways/${gateway.id}/control_logs`, ""), [deep]);
  });

  test("logs of the deleted stay, with the last name; of another tenant they are not there", async () => {
    const device = await makeDevice(world, product);
    const gateway = await makeGateway(world, product);
    const group = await makeGroup(world, product);
    await publish(device, "kept");
    const key = await world.stranger();
    for (const path of [
      `devices/${device.id}/control_logs`,
      `gateways/${gateway.id}/control_logs`,
      `groups/${group.id}/control_logs`,
    ]) {
      refused(await list(path, "", { key }), "DATA_NOT_FOUND");
      assert.is((await list(path)).status, 200);
    }
    for (const query of ["", `deviceIntID=${device.id}`, `deviceID=${device.deviceID}`]) {
      assert.is((await list("device_control_logs", query, { key })).page.meta.count, 0);
    }
    await world.call("PUT", `/api/v1/devices/${device.id}`, { deviceName: "last name" });
    await world.call("DELETE", `/api/v1/devices?ids=${device.id}`);
    const [log] = (await list("device_control_logs", `deviceID=${device.deviceID}`)).page.items;
    assert.equal([log?.payload, log?.deviceName, log?.deviceIntID], ["kept", "last name", device.id]);
    for (const id of unknownIDs) {
      for (const owner of ["devices", "gateways", "groups"]) {
        refused(await list(`${owner}/${id}/control_logs`), "DATA_NOT_FOUND");
      }
    }
    assert.is((await list("device_control_logs", "", { key: await world.keyOf("viewer") })).status, 200);
    refused(await list("device_control_logs", "", { key: null }), "AUTH_FAILED");
  });
});

import {
  deviceBody,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeProduct,
  modbus,
  unique,
} from "../factories.js";
import { assert, rejects, until } from "../suite.js";
import { type Rec, type Reply, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/devices";
const common = [
  ...["id", "deviceID", "deviceName", "deviceUsername", "token", "authType", "blocked", "deviceStatus"],
  ...["deviceType", "upLinkSystem", "gateway", "parentDevice", "productID", "cloudProtocol", "modBusIndex"],
  ...["carrier", "physicalNetwork", "IMEI", "IMSI", "autoSub", "manufacturer", "serialNumber"],
  ...["softVersion", "hardwareVersion", "description", "deviceConsoleIP", "deviceConsolePort"],
  ...["deviceConsoleUsername", "latitude", "longitude", "location", "lora", "metaData", "scopes"],
  ...["tenantID", "userIntID", "createAt", "updateAt"],
];
const listed = [
  ...[...common, "productIntID", "productName", "authTypeLabel", "deviceStatusLabel", "deviceTypeLabel"],
  "cloudProtocolLabel",
];
const connection = ["clientIP", "connectedAt", "keepAlive"];

/** What a create may carry beyond what it must, as it is stored. */
const optional = {
  carrier: 2,
  physicalNetwork: 5,
  IMEI: "490154203237518",
  IMSI: "460001234567890",
  autoSub: 1,
  manufacturer: "Vaisala",
  serialNumber: "SN-1",
  softVersion: "1.0",
  hardwareVersion: "B",
  description: "屋顶",
  deviceConsoleIP: "10.0.0.7",
  deviceConsolePort: 2222,
  deviceConsoleUsername: "root",
  latitude: 31.2304,
  longitude: 121.4737,
  location: { city: "上海" },
  metaData: { floors: [1, 2, { roof: true }] },
};

worldSuite("devices", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };

  testResource(test, world, {
    path,
    body: async () => deviceBody(await product()),
    required: ["productID", "deviceName", "deviceID", "deviceType", "cloudProtocol"],
    optional,
    fixed: { deviceID: "another", productID: "another", productIntID: 99_999, cloudProtocol: 2 },
    name: "deviceName",
    keys: {
      stored: [...common, "parentDeviceName", ...connection],
      detail: [...listed, ...connection, "gatewayName", "parentDeviceName", "createUser"],
      listed,
    },
  });

  const post = async (fields: object, owner?: Rec): Promise<Reply> =>
    world.call("POST", path, deviceBody(owner ?? (await product()), { ...fields }));

  test("defaults: what is not said is as the interface wants it, never absent", async () => {
    const { productID } = await product();
    const device = await makeDevice(world, await product(), { authType: undefined, upLinkSystem: "1" }).catch(
      () => undefined,
    );
    assert.is(device, undefined, "authType is required for MQTT");
    const plain = await makeDevice(world, await product());
    const wanted = { carrier: 1, physicalNetwork: 1, deviceConsolePort: 22, blocked: 0, deviceStatus: 0 };
    const known = { ...wanted, scopes: [], gateway: null, location: null, lora: null, productID };
    assert.equal({ ...plain, ...known }, plain);
    assert.match(String(plain.deviceUsername), /^[0-9a-f-]{36}$/);
    assert.match(String(plain.token), /^[0-9a-f-]{36}$/);
    assert.match(String(plain.tenantID), /^C[0-9A-Za-z]{8}$/);
    const detail = (await world.call("GET", `${path}/${plain.id}`)).record;
    const labels = [detail.authTypeLabel, detail.deviceStatusLabel, detail.deviceTypeLabel];
    assert.equal(labels, ["Token", "离线", "终端"]);
    assert.equal([detail.cloudProtocolLabel, detail.createUser, detail.clientIP], ["MQTT", "admin", null]);
  });

  test("a device is found by its deviceID in paths and ids; a record id goes first", async () => {
    const device = await makeDevice(world, await product());
    assert.is((await world.call("GET", `${path}/${device.deviceID}`)).record.id, device.id);
    const numeric = await makeDevice(world, await product(), { deviceID: String(device.id) });
    assert.is((await world.call("GET", `${path}/${device.id}`)).record.id, device.id);
    assert.is((await world.call("DELETE", `${path}?ids=${device.id}`)).status, 204);
    assert.is((await world.call("GET", `${path}/${device.id}`)).record.id, numeric.id);
  });

  test("deviceID: up to 64 characters, none that a topic or a path minds", async () => {
    for (const deviceID of ["a b", "a/b", "a+b", "a#b", "a,b", "a\tb", "a\u0000b", "x".repeat(65), 5]) {
      refused(await post({ deviceID }), "PARAMETER_INVALID", "deviceID");
    }
    for (const deviceID of ["x".repeat(64), unique("设备🦉"), unique("a:b.c_d-e"), unique("%20")]) {
      const made = await post({ deviceID });
      assert.is(made.record.deviceID, deviceID);
      const found = await world.call("GET", `${path}/${encodeURIComponent(deviceID)}`);
      assert.is(found.record.id, made.record.id, deviceID);
    }
  });

  test("deviceID and deviceUsername are unique over all tenants, deviceName in its product", async () => {
    const device = await makeDevice(world, await product());
    refused(await post({ deviceID: device.deviceID }), "DATA_EXISTED", "deviceID");
    refused(await post({ deviceUsername: device.deviceUsername }), "DATA_EXISTED", "deviceUsername");
    refused(await post({ deviceName: device.deviceName }), "DATA_EXISTED", "deviceName");
    await makeDevice(world, await makeProduct(world), { deviceName: device.deviceName });
    const key = await world.otherTenant();
    const elsewhere = await world.make("/api/v1/products", { productName: "p", cloudProtocol: 1 }, { key });
    const sent = deviceBody(elsewhere, { deviceID: device.deviceID });
    refused(await world.call("POST", path, sent, { key }), "DATA_EXISTED", "deviceID");
    refused(
      await world.call("POST", path, deviceBody(await product()), { key }),
      "PARAMETER_INVALID",
      "productID",
    );
  });

  test("a deleted deviceID is free again once its points are gone", async () => {
    const owner = await makeProduct(world);
    await makeDataPoint(world, owner, { dataPointID: "level" });
    const device = await makeDevice(world, owner);
    await world.publish(device, { level: 1 });
    await world.call("DELETE", `${path}?ids=${device.id}`);
    const again = await until(
      async () => {
        const reply = await post({ deviceID: device.deviceID }, owner);
        if (reply.status === 201) return reply.record;
        refused(reply, "DATA_EXISTED", "deviceID");
        return null;
      },
      { what: "the deviceID to be free" },
    );
    assert.ok(again.id > device.id);
    const values = async () => {
      const { list } = await world.call("GET", `/api/v1/original_data?deviceID=${device.deviceID}`);
      return (list[0]?.originalData as { value: unknown[] } | undefined)?.value;
    };
    assert.equal(await values(), []);
    await world.publish(again, { level: 2 });
    assert.equal(await values(), [2]);
  });

  test("deviceType 1 needs upLinkSystem, 3 must not have one", async () => {
    refused(await post({ upLinkSystem: undefined }), "PARAMETER_INVALID", "upLinkSystem");
    refused(await post({ deviceType: 3 }), "PARAMETER_INVALID", "upLinkSystem");
    const phone = await makeDevice(world, await product(), { deviceType: 3, upLinkSystem: undefined });
    assert.equal([phone.deviceType, phone.upLinkSystem], [3, null]);
    assert.is((await world.call("GET", `${path}/${phone.id}`)).record.deviceTypeLabel, "智能手机");
    for (const deviceType of [0, 2, 4])
      refused(await post({ deviceType }), "PARAMETER_INVALID", "deviceType");
    refused(await post({ upLinkSystem: 4 }), "PARAMETER_INVALID", "upLinkSystem");
    refused(await post({ upLinkSystem: 2 }), "PARAMETER_INVALID", "gateway");
    refused(await post({ upLinkSystem: 2, gateway: 99_999 }), "PARAMETER_INVALID", "gateway");
    refused(await post({ upLinkSystem: 3 }), "PARAMETER_INVALID", "parentDevice");
    refused(await post({ upLinkSystem: 3, parentDevice: 99_999 }), "PARAMETER_INVALID", "parentDevice");
  });

  test("children name their parent, are listed below it, hold it, and never become it", async () => {
    const parent = await makeDevice(world, await product());
    const child = await makeDevice(world, await product(), {
      upLinkSystem: 3,
      parentDevice: String(parent.id),
    });
    assert.equal([child.parentDevice, child.parentDeviceName], [parent.id, parent.deviceName]);
    const below = (await world.call("GET", `${path}?parentDevice=${parent.id}`)).page;
    assert.equal([below.meta.count, below.items[0]?.id], [1, child.id]);
    refused(await world.call("GET", `${path}?parentDevice=x`), "PARAMETER_INVALID", "parentDevice");
    for (const parentDevice of [parent.id, child.id]) {
      const put = await world.call("PUT", `${path}/${parent.id}`, { upLinkSystem: 3, parentDevice });
      refused(put, "PARAMETER_INVALID", "parentDevice");
    }
    refused(await world.call("DELETE", `${path}?ids=${parent.id}`), "REFERENCED_ERROR");
    const direct = await world.call("PUT", `${path}/${child.id}`, { upLinkSystem: 1 });
    assert.equal([direct.record.parentDevice, direct.record.parentDeviceName], [null, null]);
    assert.is((await world.call("DELETE", `${path}?ids=${parent.id},${child.id}`)).status, 204);
  });

  test("cloudProtocol must be the product's", async () => {
    refused(await post({ cloudProtocol: 2 }), "PARAMETER_INVALID", "cloudProtocol");
    refused(await post({ productID: "nobody" }), "PARAMETER_INVALID", "productID");
  });

  test("Modbus devices have an index of their own among their siblings", async () => {
    const bus = await makeProduct(world, { cloudProtocol: modbus });
    refused(await post({}, bus), "PARAMETER_INVALID", "modBusIndex");
    for (const modBusIndex of [-1, 256, "x", 1.5]) {
      refused(await post({ modBusIndex }, bus), "PARAMETER_INVALID", "modBusIndex");
    }
    const first = await makeDevice(world, bus, { modBuxIndex: "255" });
    assert.is(first.modBusIndex, 255, "the other spelling is stored under the proper name");
    assert.is("modBuxIndex" in first, false);
    refused(await post({ modBusIndex: 255 }, bus), "DATA_EXISTED", "modBusIndex");
    await makeDevice(world, bus, { modBusIndex: 255, upLinkSystem: 3, parentDevice: first.id });
    await makeDevice(world, await makeProduct(world, { cloudProtocol: modbus }), { modBusIndex: 255 });
    const put = await world.call("PUT", `${path}/${first.id}`, { modBusIndex: null });
    refused(put, "PARAMETER_INVALID", "modBusIndex");
  });

  test("LwM2M and LoRa devices need what their protocols need", async () => {
    const lwm2m = await makeProduct(world, { cloudProtocol: 3 });
    refused(await post({ authType: undefined }, lwm2m), "PARAMETER_INVALID", "IMEI", "autoSub");
    refused(await post({ authType: undefined, IMEI: "", autoSub: 0 }, lwm2m), "PARAMETER_INVALID", "IMEI");
    await makeDevice(world, lwm2m, { authType: undefined, IMEI: "490154203237518", autoSub: 0 });
    const lora = await makeProduct(world, { cloudProtocol: 4 });
    refused(await post({}, lora), "PARAMETER_INVALID", "lora.type");
    const otaa = {
      type: "otaa",
      appEUI: "0102030405060708",
      appKey: "ab".repeat(16),
      fcntCheck: 0,
      canJoin: 1,
    };
    const deviceID = "a1b2c3d4e5f60708";
    refused(
      await post({ lora: { type: "otaa" } }, lora),
      "PARAMETER_INVALID",
      "lora.appEUI",
      "lora.canJoin",
      "deviceID",
    );
    refused(
      await post({ deviceID, lora: { ...otaa, appKey: "xy" } }, lora),
      "PARAMETER_INVALID",
      "lora.appKey",
    );
    const made = await makeDevice(world, lora, { deviceID, lora: otaa });
    assert.equal(made.lora, otaa);
    const abp = { type: "abp", region: "EU868" };
    refused(await post({ lora: abp }, lora), "PARAMETER_INVALID", "lora.region");
    refused(
      await post({ lora: { type: "abp" } }, lora),
      "PARAMETER_INVALID",
      "gateway",
      "lora.nwkSKey",
      "lora.fcntUp",
    );
  });

  test("a viewer sees no secret", async () => {
    const lora = await makeProduct(world, { cloudProtocol: 4 });
    const secrets = { appKey: "ab".repeat(16) };
    const rest = { type: "otaa", appEUI: "0102030405060708", fcntCheck: 0, canJoin: 1 };
    const body = { deviceID: "a1b2c3d4e5f60709", lora: { ...rest, ...secrets } };
    const device = await makeDevice(world, lora, body);
    const key = await world.keyOf("viewer");
    const detail = (await world.call("GET", `${path}/${device.id}`, undefined, { key })).record;
    assert.is(detail.token, null);
    const list = await world.call("GET", `${path}?deviceID=${device.deviceID}`, undefined, { key });
    assert.is(list.page.items[0]?.token, null);
    assert.not.match(list.text, /abab|a1b2c3d4e5f60709"[^}]*"token":"/);
    const open = (await world.call("GET", `${path}/${device.id}`)).record;
    assert.equal([open.token, open.lora], [device.token, { ...rest, ...secrets }]);
  });

  test("no filter finds a device by its token", async () => {
    const device = await makeDevice(world, await product());
    for (const parameter of ["token", "token_like"]) {
      for (const list of ["devices", "gateways", "devices_export"]) {
        const reply = await world.call("GET", `/api/v1/${list}?${parameter}=${device.token}`);
        refused(reply, "PARAMETER_INVALID", parameter);
        assert.is(reply.failure.errors[parameter], `cannot filter by ${parameter}`);
      }
    }
  });

  test("equality filters over the fields of a device", async () => {
    const owner = await makeProduct(world);
    const device = await makeDevice(world, owner, { serialNumber: "serial 7", blocked: 1, carrier: 4 });
    await makeDevice(world, owner);
    const query = (filters: string) => world.call("GET", `${path}?productID=${owner.productID}&${filters}`);
    const hits = ["serialNumber=serial%207", "blocked=1", "carrier=4", `deviceID=${device.deviceID}`];
    for (const filter of [...hits, "serialNumber_like=SERIAL", `deviceUsername=${device.deviceUsername}`]) {
      const { items } = (await query(filter)).page;
      assert.equal([items.length, items[0]?.id], [1, device.id], filter);
    }
    const all = [
      "deviceType=1",
      "authType=1",
      "deviceStatus=0",
      `productName=${owner.productName}`,
      "cloudProtocol=1",
    ];
    for (const filter of all) assert.is((await query(filter)).page.meta.count, 2, filter);
    for (const field of ["blocked", "deviceType", "gateway", "modBusIndex"]) {
      for (const value of ["x", "1.5", "%F0%9F%A6%89", "1%20or%201", "9999999999999999"]) {
        refused(await query(`${field}=${value}`), "PARAMETER_INVALID", field);
      }
    }
    assert.is((await query("blocked=999999999999999")).page.meta.count, 0);
  });

  test("what may not be null is refused as null; a changed token is kept, the same one is no change", async () => {
    const device = await makeDevice(world, await product());
    const put = (body: object) => world.call("PUT", `${path}/${device.id}`, body);
    for (const field of ["authType", "blocked", "scopes", "deviceUsername", "token"]) {
      refused(await put({ [field]: null }), "PARAMETER_INVALID", field);
    }
    assert.is((await put({ token: "chosen" })).record.token, "chosen");
    assert.is((await world.call("GET", `${path}/${device.id}`)).record.token, "chosen");
    assert.is((await put({ blocked: "1" })).record.blocked, 1);
  });

  test("places must lie on the earth, scopes must be areas", async () => {
    for (const latitude of [-90.1, 91, "north"])
      refused(await post({ latitude }), "PARAMETER_INVALID", "latitude");
    for (const longitude of [-181, 180.5])
      refused(await post({ longitude }), "PARAMETER_INVALID", "longitude");
    const polygon = {
      scopeType: 1,
      scopeName: "yard",
      points: [
        [0, 0],
        [0, 1],
        [1, 1],
      ],
    };
    const circle = { scopeType: 2, scopeName: "pond", center: [121.4, 31.2], radius: 50 };
    const device = await makeDevice(world, await product(), { scopes: [polygon, circle] });
    assert.equal(device.scopes, [polygon, circle]);
    const area = { scopeType: 1, scopeName: "x" };
    refused(await post({ scopes: [area] }), "PARAMETER_INVALID", "scopes.0.points");
    const far = { ...area, center: [0, 0], radius: 1e9 };
    refused(await post({ scopes: [polygon, far] }), "PARAMETER_INVALID", "scopes.1.radius");
    const wrong = { ...area, points: Array.from({ length: 1000 }, () => [999, 9]) };
    const { failure } = await post({ scopes: Array.from({ length: 20 }, () => wrong) });
    assert.is(Object.keys(failure.errors).length, 100);
    refused(await post({ metaData: { text: "x".repeat(20_000) } }), "PARAMETER_INVALID", "metaData");
  });

  test("an ABP device of LoRa keeps its gateway whatever its uplink, and names it DevAddr", async () => {
    const lora = await makeProduct(world, { cloudProtocol: 4 });
    const gateway = await makeGateway(world, lora);
    const keys = { nwkSKey: "ab".repeat(16), appSKey: "cd".repeat(16) };
    const counters = { fcntUp: "7", fcntDown: 0, fcntCheck: 2 };
    const abp = { type: "abp", region: "CN470-510", ...keys, ...counters };
    const sent = { lora: abp, gateway: gateway.id, deviceID: "A1B2C3D4" };
    const device = await makeDevice(world, lora, { ...sent, authType: undefined });
    assert.equal([device.gateway, device.upLinkSystem, device.authType], [gateway.id, 1, 1]);
    assert.equal(device.lora, { ...abp, fcntUp: 7 });
    const put = (body: object) => world.call("PUT", `${path}/${device.id}`, body);
    refused(await put({ gateway: null }), "PARAMETER_INVALID", "gateway");
    refused(await put({ lora: { ...abp, region: null } }), "PARAMETER_INVALID", "lora.region");
    refused(await put({ lora: { ...abp, type: "otaa" } }), "PARAMETER_INVALID", "lora.appEUI", "deviceID");
    refused(await put({ lora: null }), "PARAMETER_INVALID", "lora.type");
    refused(await world.call("DELETE", `/api/v1/gateways?ids=${gateway.id}`), "REFERENCED_ERROR");
  });

  test("a link that the uplink system does not call for is stored as null", async () => {
    const owner = await product();
    const [gateway, parent] = [await makeGateway(world, owner), await makeDevice(world, owner)];
    const links = { gateway: gateway.id, parentDevice: parent.id };
    const linksOf = ({ gateway: above, parentDevice, upLinkSystem }: Rec) => [
      upLinkSystem,
      above,
      parentDevice,
    ];
    const device = await makeDevice(world, owner, { ...links, upLinkSystem: 1 });
    assert.equal(linksOf(device), [1, null, null]);
    const put = async (body: object) =>
      linksOf((await world.call("PUT", `${path}/${device.id}`, body)).record);
    assert.equal(await put({ ...links, upLinkSystem: 2 }), [2, gateway.id, null]);
    assert.equal(await put({ ...links, upLinkSystem: 3 }), [3, null, parent.id]);
    assert.equal(await put({ deviceType: 3, upLinkSystem: null }), [null, null, null]);
    const key = await world.otherTenant();
    const elsewhere = await world.make(
      "/api/v1/products",
      { productName: unique("p"), cloudProtocol: 1 },
      { key },
    );
    for (const link of [{ upLinkSystem: 2 }, { upLinkSystem: 3 }]) {
      const reply = await world.call("POST", path, deviceBody(elsewhere, { ...links, ...link }), { key });
      refused(reply, "PARAMETER_INVALID", link.upLinkSystem === 2 ? "gateway" : "parentDevice");
    }
  });

  test("filters of both variants: members of a group, online or not, a place, the type's code", async () => {
    const owner = await makeProduct(world);
    const device = await makeDevice(world, owner, { ...optional, location: '楼 "7"' });
    const phone = await makeDevice(world, owner, { deviceType: 3, upLinkSystem: undefined });
    const ids = async (filter: string) => {
      const reply = await world.call("GET", `${path}?productID=${owner.productID}&${filter}`);
      assert.is(reply.status, 200, reply.text);
      return reply.page.items.map(({ id }) => id);
    };
    const group = await world.make("/api/v1/groups", { productID: owner.productID, groupName: unique("g") });
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [phone.id] });
    assert.equal(await ids(`groupID=${group.groupID}`), [phone.id]);
    assert.equal(await ids(`groupID=${group.id}`), [], "groupID is the string id only");
    for (const one of ["latitude=31.2304", "longitude=121.4737", "deviceType_like=1", "location_like=%22"]) {
      assert.equal(await ids(one), [device.id], one);
    }
    assert.equal(await ids("deviceType=3"), [phone.id]);
    assert.equal(await ids(`location=${encodeURIComponent(String(device.location))}`), [device.id]);
    assert.is((await ids(`status=0&tenantID=${device.tenantID}`)).length, 2);
    refused(await world.call("GET", `${path}?latitude=north`), "PARAMETER_INVALID", "latitude");
  });

  test("a deleted device's connections end at once, and its credentials are worth nothing", async () => {
    const device = await makeDevice(world, await product());
    const client = await world.connect(device);
    const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
    assert.is((await world.call("DELETE", `${path}?ids=${device.deviceID}`)).status, 204);
    await closed;
    await rejects(() => world.connect(device), /Not authorized|Bad User|not authorised/i);
  });
});

import { deviceBody, gatewayBody, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, type Reply, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/devices";
const common = [
  ...[
    "id",
    "deviceID",
    "deviceName",
    "deviceUsername",
    "token",
    "authType",
    "blocked",
    "createAt",
    "updateAt",
  ],
  ...["productID", "deviceType", "status", "manufacturer", "serialNumber", "softVersion", "hardwareVersion"],
  ...["description", "location", "tenantID", "userIntID"],
];
const labels = ["deviceTypeLabel", "statusLabel"];
const seen = [
  ...["clientIP", "connectedAt", "keepAlive", "mqttBroker", "mqttsBroker", "mqttssBroker"],
  ...["coapBroker", "coapsBroker", "coapssBroker"],
];

const optional = {
  manufacturer: "Vaisala",
  serialNumber: "SN-1",
  softVersion: "1.0",
  hardwareVersion: "B",
  description: "屋顶",
  location: '上海 "外滩" \\ 18',
};

const asA = { headers: { "Api-Variant": "A" } };

worldSuite(
  "devices of Variant B",
  (test, world) => {
    let shared: Rec | undefined;
    const product = async (): Promise<Rec> => {
      shared ??= await makeProduct(world, { description: "d" });
      return shared;
    };
    const body = (owner: Rec, fields: object = {}) => ({
      deviceName: unique("Device"),
      productID: owner.productID,
      deviceType: 0,
      authType: 1,
      ...fields,
    });
    const post = async (fields: object = {}): Promise<Reply> =>
      world.call("POST", path, body(await product(), fields));
    const make = async (fields: object = {}): Promise<Rec> => world.make(path, body(await product(), fields));

    testResource(test, world, {
      path,
      body: async () => body(await product()),
      required: ["deviceName", "productID", "deviceType", "authType"],
      optional,
      fixed: { deviceID: "another", productID: "another", cloudProtocol: 2 },
      name: "deviceName",
      keys: {
        stored: [...common, ...seen],
        detail: [...common, ...labels, ...seen, "createUser"],
        listed: [...common, ...labels, "productName"],
      },
    });

    test("deviceID and deviceUsername of 36 characters where none is given", async () => {
      const device = await make();
      for (const field of ["deviceID", "deviceUsername", "token"]) {
        assert.is(String(device[field]).length, 36, field);
      }
      const chosen = { deviceID: unique("dev"), deviceUsername: unique("user") };
      const named = await make(chosen);
      assert.equal({ ...named, ...chosen }, named);
      refused(await post({ deviceID: "a/b" }), "PARAMETER_INVALID", "deviceID");
    });

    test("the broker's addresses and the labels", async () => {
      const { id, mqttBroker, coapBroker } = await make();
      assert.is(mqttBroker, world.mqtt.replace("mqtt://", ""));
      assert.is(coapBroker, null);
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      assert.equal(
        [detail.deviceTypeLabel, detail.statusLabel, detail.createUser],
        ["终端", "离线", "admin"],
      );
    });

    test("types are stored as Variant A has them", async () => {
      const inA = async ({ id }: Rec, where = path) =>
        (await world.call("GET", `${where}/${id}`, undefined, asA)).record;
      const terminal = await inA(await make({ deviceType: "0" }));
      assert.equal([terminal.deviceType, terminal.upLinkSystem, terminal.carrier], [1, 1, 1]);
      const phone = await make({ deviceType: 2 });
      assert.equal([(await inA(phone)).deviceType, (await inA(phone)).upLinkSystem], [3, null]);
      assert.is((await world.call("GET", `${path}/${phone.id}`)).record.deviceTypeLabel, "智能手机");
      for (const deviceType of [3, -1, "x"]) {
        refused(await post({ deviceType }), "PARAMETER_INVALID", "deviceType");
      }
    });

    test("deviceType 1 makes a gateway, listed, served, edited and deleted among the devices", async () => {
      const gateway = await make({ deviceType: 1, location: "cellar" });
      assert.is(gateway.deviceType, 1);
      const inA = (await world.call("GET", `/api/v1/gateways/${gateway.id}`)).record;
      assert.equal(
        [inA.gatewayName, inA.gatewayProtocol, inA.upLinkNetwork, inA.location],
        [gateway.deviceName, 1, null, "cellar"],
      );
      // What Variant B left open may be sent back as read.
      assert.is((await world.call("PUT", `/api/v1/gateways/${gateway.id}`, inA)).status, 200);
      const found = (await world.call("GET", `${path}?deviceID=${gateway.deviceID}`)).page.items[0];
      assert.equal([found?.id, found?.deviceTypeLabel], [gateway.id, "网关"]);
      const renamed = await world.call("PUT", `${path}/${gateway.id}`, {
        deviceName: unique("Renamed"),
        blocked: 1,
      });
      assert.equal([renamed.status, renamed.record.blocked], [200, 1]);
      refused(
        await post({ deviceType: 1, deviceName: renamed.record.deviceName }),
        "DATA_EXISTED",
        "deviceName",
      );
      const other = await make({ deviceType: 1 });
      const taken = await world.call("PUT", `${path}/${other.id}`, { deviceName: renamed.record.deviceName });
      refused(taken, "DATA_EXISTED", "deviceName");
      assert.is((await world.call("DELETE", `${path}?ids=${gateway.id},${other.deviceID}`)).status, 204);
      refused(await world.call("GET", `/api/v1/gateways/${gateway.id}`), "DATA_NOT_FOUND");
    });

    test("a device never becomes a gateway or a gateway a device; a terminal may become a phone", async () => {
      const [device, gateway] = [await make(), await make({ deviceType: 1 })];
      const put = ({ id }: Rec, deviceType: number) => world.call("PUT", `${path}/${id}`, { deviceType });
      refused(await put(device, 1), "PARAMETER_INVALID", "deviceType");
      refused(await put(gateway, 0), "PARAMETER_INVALID", "deviceType");
      refused(await put(gateway, 2), "PARAMETER_INVALID", "deviceType");
      assert.is((await put(gateway, 1)).status, 200);
      assert.is((await put(device, 2)).record.deviceType, 2);
      const inA = (await world.call("GET", `${path}/${device.id}`, undefined, asA)).record;
      assert.equal([inA.deviceType, inA.upLinkSystem], [3, null]);
      assert.is((await put(device, 0)).record.deviceType, 0);
    });

    test("a place given as JSON shows as its text and survives being sent back", async () => {
      const owner = await product();
      const sent = deviceBody({ ...owner, cloudProtocol: 1 }, { location: { city: "上海", floor: 3 } });
      const { id } = await world.make(path, sent, asA);
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      assert.is(detail.location, '{"city":"上海","floor":3}');
      assert.is((await world.call("PUT", `${path}/${id}`, { ...detail, softVersion: "2" })).status, 200);
      const inA = async () => (await world.call("GET", `${path}/${id}`, undefined, asA)).record;
      assert.equal((await inA()).location, { city: "上海", floor: 3 });
      await world.call("PUT", `${path}/${id}`, { location: "roof" });
      assert.is((await inA()).location, "roof");
      refused(await post({ location: { city: 1 } }), "PARAMETER_INVALID", "location");
    });

    test("products whose devices need more than this body carries are refused", async () => {
      for (const cloudProtocol of [3, 4, 7]) {
        const made = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol }, asA);
        for (const deviceType of [0, 1, 2]) {
          const reply = await world.call("POST", path, body(made, { deviceType }));
          refused(reply, "PARAMETER_INVALID", "productID");
        }
      }
      const coap = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 2 }, asA);
      await world.make(path, body(coap));
    });

    test("what Variant A made is seen and edited; its further fields keep their values", async () => {
      const bus = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 7 }, asA);
      const gateway = await world.make("/api/v1/gateways", gatewayBody(bus));
      const sent = deviceBody(bus, { upLinkSystem: 2, gateway: gateway.id, modBusIndex: 9, IMEI: "1" });
      const { id } = await world.make(path, sent, asA);
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      const put = await world.call("PUT", `${path}/${id}`, { ...detail, deviceName: unique("New") });
      assert.is(put.status, 200, put.text);
      const inA = (await world.call("GET", `${path}/${id}`, undefined, asA)).record;
      assert.equal([inA.gateway, inA.modBusIndex, inA.IMEI, inA.upLinkSystem], [gateway.id, 9, "1", 2]);
    });

    test("filters take this variant's codes, and those of the other variant work too", async () => {
      const owner = await makeProduct(world, { description: "d" });
      const [terminal, gateway, phone] = await Promise.all(
        [0, 1, 2].map((deviceType) => world.make(path, body(owner, { deviceType, ...optional }))),
      );
      const ids = async (filter: string) => {
        const reply = await world.call("GET", `${path}?productID=${owner.productID}&${filter}`);
        return reply.page.items.map(({ id }) => id);
      };
      assert.equal(await ids("deviceType_like=0"), [terminal?.id]);
      assert.equal(await ids("deviceType_like=1"), [gateway?.id]);
      assert.equal(await ids("deviceType=2"), [phone?.id]);
      assert.is((await ids("deviceType_like=")).length, 3);
      assert.is((await ids("status=0&blocked=0&upLinkNetwork=1")).length, 3);
      assert.equal(await ids("upLinkSystem=1"), [terminal?.id]);
      for (const part of ["上海", '"外滩"', "\\", '外滩" \\ 1']) {
        assert.is((await ids(`location_like=${encodeURIComponent(part)}`)).length, 3, part);
      }
      assert.is((await ids(`location=${encodeURIComponent(optional.location)}`)).length, 3);
      assert.is((await ids("location_like=上海%20外滩")).length, 0);
      for (const name of ["deviceType", "deviceType_like", "status"]) {
        refused(await world.call("GET", `${path}?${name}=x`), "PARAMETER_INVALID", name);
      }
      const named = await world.call(
        "GET",
        `${path}?deviceName_like=${terminal?.deviceName}&deviceID_like=-`,
      );
      assert.equal(
        named.page.items.map(({ id }) => id),
        [terminal?.id],
      );
    });

    test("a connected device shows its address and heartbeat", async () => {
      const device = await make();
      const client = await world.connect(device);
      const detail = async () => (await world.call("GET", `${path}/${device.id}`)).record;
      await until(async () => (await detail()).status === 1, { what: "the device to be online" });
      const { clientIP, connectedAt, keepAlive, statusLabel } = await detail();
      assert.equal([clientIP, keepAlive, statusLabel], ["127.0.0.1", 60, "在线"]);
      assert.ok(connectedAt);
      assert.ok((await world.call("GET", `${path}?status=1`)).page.items.some(({ id }) => id === device.id));
      await client.endAsync();
    });
  },
  { API_VARIANT: "B" },
);

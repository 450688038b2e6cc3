import { gatewayBody, makeDevice, makeGateway, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/gateways";
const stored = [
  ...["id", "gatewayName", "deviceID", "deviceUsername", "token", "authType", "blocked", "deviceStatus"],
  ...["gatewayProtocol", "upLinkNetwork", "upLinkNetworkLabel", "upLinkProtocol", "upLinkProtocolLabel"],
  ...["mac", "productID", "productName", "manufacturer", "serialNumber", "softVersion", "hardwareVersion"],
  ...["description", "location", "deviceConsoleIP", "deviceConsolePort", "deviceConsoleUsername"],
  ...["userIntID", "createAt", "updateAt"],
];
const shown = [...stored, "authTypeLabel", "deviceStatusLabel", "gatewayProtocolLabel"];

const optional = {
  upLinkProtocol: 2,
  mac: "00:1B:44:11:3A:B7",
  manufacturer: "Moxa",
  serialNumber: "G-1",
  softVersion: "2.1",
  hardwareVersion: "C",
  description: "机房",
  location: { room: ["B", 2] },
  deviceConsoleIP: "10.0.0.9",
  deviceConsolePort: 2200,
  deviceConsoleUsername: "admin",
};

worldSuite("gateways", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };

  testResource(test, world, {
    path,
    body: async () => gatewayBody(await product()),
    required: ["gatewayName", "productID", "gatewayProtocol", "upLinkNetwork"],
    optional,
    fixed: { deviceID: "another", productID: "another", productIntID: 99_999 },
    name: "gatewayName",
    keys: { stored, detail: [...shown, "createUser"], listed: [...shown, "deviceCount"] },
  });

  test("what is not said is generated or has its default", async () => {
    const gateway = await makeGateway(world, await product(), { deviceID: null });
    for (const field of ["deviceID", "deviceUsername", "token"]) {
      assert.match(String(gateway[field]), /^[0-9a-f-]{36}$/, field);
    }
    const known = { authType: 1, blocked: 0, deviceStatus: 0, deviceConsolePort: 22, upLinkProtocol: null };
    assert.equal({ ...gateway, ...known, location: null, mac: null }, gateway);
    assert.equal([gateway.upLinkNetworkLabel, gateway.upLinkProtocolLabel], ["Wi-Fi", null]);
    const detail = (await world.call("GET", `${path}/${gateway.deviceID}`)).record;
    const labels = [detail.authTypeLabel, detail.deviceStatusLabel, detail.gatewayProtocolLabel];
    assert.equal([...labels, detail.createUser], ["Token", "离线", "MQTT", "admin"]);
    const chosen = { deviceID: unique("gw"), deviceUsername: unique("user"), token: "t" };
    const made = await makeGateway(world, await product(), chosen);
    assert.equal({ ...made, ...chosen }, made);
  });

  test("the fields go under their other spellings too, the proper one first", async () => {
    const other = { gatewayMAC: "m1", consoleIP: "10.1.1.1", consolePort: "23", consoleUsername: "root" };
    const gateway = await makeGateway(world, await product(), other);
    const { mac, deviceConsoleIP, deviceConsolePort, deviceConsoleUsername } = gateway;
    assert.equal(
      [mac, deviceConsoleIP, deviceConsolePort, deviceConsoleUsername],
      ["m1", "10.1.1.1", 23, "root"],
    );
    const put = await world.call("PUT", `${path}/${gateway.id}`, {
      mac: "m2",
      gatewayMAC: "m3",
      consolePort: 24,
    });
    assert.equal([put.record.mac, put.record.deviceConsolePort], ["m2", 24]);
    assert.equal(put.record.deviceConsoleIP, "10.1.1.1");
    const wrong = { gatewayMAC: 5, consolePort: 70_000 };
    const reply = await world.call("POST", path, gatewayBody(await product(), wrong));
    refused(reply, "PARAMETER_INVALID", "gatewayMAC", "consolePort");
  });

  test("codes are those of the interface, also as text", async () => {
    const body = { gatewayProtocol: "7", upLinkNetwork: "5", upLinkProtocol: "6" };
    const gateway = await makeGateway(world, await product(), body);
    assert.equal(
      [gateway.gatewayProtocol, gateway.upLinkNetworkLabel, gateway.upLinkProtocolLabel],
      [7, "NB-IoT", "WebSocket"],
    );
    for (const field of Object.keys(body)) {
      for (const value of [0, 8, "x"]) {
        const reply = await world.call("POST", path, gatewayBody(await product(), { [field]: value }));
        refused(reply, "PARAMETER_INVALID", field);
      }
    }
    const cleared = await world.call("PUT", `${path}/${gateway.id}`, { upLinkNetwork: null });
    refused(cleared, "PARAMETER_INVALID", "upLinkNetwork");
    for (const field of ["authType", "blocked", "deviceUsername", "token"]) {
      refused(
        await world.call("PUT", `${path}/${gateway.id}`, { [field]: null }),
        "PARAMETER_INVALID",
        field,
      );
    }
  });

  test("gateways and devices share one id sequence and their identities, but not their names", async () => {
    const device = await makeDevice(world, await product());
    const gateway = await makeGateway(world, await product(), { gatewayName: device.deviceName });
    assert.is(gateway.id, device.id + 1);
    const post = async (fields: Readonly<Record<string, unknown>>) =>
      world.call("POST", path, gatewayBody(await product(), fields));
    refused(await post({ deviceID: device.deviceID }), "DATA_EXISTED", "deviceID");
    refused(await post({ deviceUsername: device.deviceUsername }), "DATA_EXISTED", "deviceUsername");
    const elsewhere = gatewayBody(await makeProduct(world), { gatewayName: gateway.gatewayName });
    refused(await world.call("POST", path, elsewhere), "DATA_EXISTED", "gatewayName");
    const key = await world.otherTenant();
    const theirs = await world.make("/api/v1/products", { productName: "p", cloudProtocol: 1 }, { key });
    await world.make(path, gatewayBody(theirs, { gatewayName: gateway.gatewayName }), { key });
    refused(
      await world.call("POST", path, gatewayBody(await product()), { key }),
      "PARAMETER_INVALID",
      "productID",
    );
  });

  test("Variant A keeps gateways apart from devices; their routes are no device's", async () => {
    const owner = await makeProduct(world);
    const gateway = await makeGateway(world, owner);
    const device = await makeDevice(world, owner);
    for (const id of [gateway.id, gateway.deviceID]) {
      refused(await world.call("GET", `/api/v1/devices/${id}`), "DATA_NOT_FOUND");
      refused(await world.call("PUT", `/api/v1/devices/${id}`, {}), "DATA_NOT_FOUND");
      refused(await world.call("DELETE", `/api/v1/devices?ids=${id}`), "DATA_NOT_FOUND");
    }
    for (const id of [device.id, device.deviceID]) {
      refused(await world.call("GET", `${path}/${id}`), "DATA_NOT_FOUND");
      refused(await world.call("PUT", `${path}/${id}`, {}), "DATA_NOT_FOUND");
      refused(await world.call("DELETE", `${path}?ids=${id}`), "DATA_NOT_FOUND");
    }
    const { items } = (await world.call("GET", `/api/v1/devices?productID=${owner.productID}`)).page;
    assert.equal(
      items.map(({ id }) => id),
      [device.id],
    );
    const counted = (await world.call("GET", `/api/v1/products/${owner.id}`)).record;
    assert.is(counted.deviceCount, 1);
    refused(await world.call("DELETE", `/api/v1/products?ids=${owner.id}`), "REFERENCED_ERROR");
  });

  test("a gateway counts, names and holds the devices below it", async () => {
    const gateway = await makeGateway(world, await product());
    const below = { upLinkSystem: 2, gateway: String(gateway.id) };
    const device = await makeDevice(world, await product(), below);
    await makeDevice(world, await product(), below);
    assert.is(device.gateway, gateway.id);
    const named = (await world.call("GET", `/api/v1/devices/${device.id}`)).record;
    assert.is(named.gatewayName, gateway.gatewayName);
    const listed = (await world.call("GET", `/api/v1/devices?gateway=${gateway.id}`)).page;
    assert.equal([listed.meta.count, listed.items[1]?.id], [2, device.id]);
    const counted = (await world.call("GET", `${path}?deviceID=${gateway.deviceID}&deviceCount=2`)).page;
    assert.is(counted.items[0]?.deviceCount, 2);
    refused(await world.call("DELETE", `${path}?ids=${gateway.id}`), "REFERENCED_ERROR");
    await world.call("PUT", `/api/v1/devices/${device.id}`, { upLinkSystem: 1 });
    await world.call("DELETE", `/api/v1/devices?ids=${listed.items[0]?.id}`);
    assert.is((await world.call("DELETE", `${path}?ids=${gateway.id}`)).status, 204);
    const notDevice = { upLinkSystem: 3, parentDevice: (await makeGateway(world, await product())).id };
    const reply = await world.call("PUT", `/api/v1/devices/${device.id}`, notDevice);
    refused(reply, "PARAMETER_INVALID", "parentDevice");
  });

  test("every text and number of a gateway filters", async () => {
    const owner = await makeProduct(world);
    const gateway = await makeGateway(world, owner, { ...optional, gatewayProtocol: 3, upLinkNetwork: 2 });
    await makeGateway(world, owner, { authType: 2, blocked: 1 });
    const query = async (filter: string) => {
      const reply = await world.call("GET", `${path}?productID=${owner.productID}&${filter}`);
      return reply.page.items.map(({ id }) => id);
    };
    const texts = ["gatewayName", "deviceID", "deviceUsername", "mac", "manufacturer", "serialNumber"];
    const more = [
      "softVersion",
      "hardwareVersion",
      "description",
      "deviceConsoleIP",
      "deviceConsoleUsername",
    ];
    for (const field of [...texts, ...more]) {
      const value = String(gateway[field]);
      assert.equal(await query(`${field}=${encodeURIComponent(value)}`), [gateway.id], field);
      assert.equal(
        await query(`${field}_like=${encodeURIComponent(value.toUpperCase())}`),
        [gateway.id],
        field,
      );
    }
    const numbers = ["gatewayProtocol=3", "upLinkNetwork=2", "upLinkProtocol=2", "deviceConsolePort=2200"];
    for (const one of [...numbers, "authType=1", "blocked=0"]) {
      assert.equal(await query(one), [gateway.id], one);
    }
    assert.is((await query("deviceStatus=0&deviceCount=0&userIntID=1")).length, 2);
    assert.is((await query(`nobody=x&productName=${owner.productName}`)).length, 2);
    refused(await world.call("GET", `${path}?upLinkNetwork=x`), "PARAMETER_INVALID", "upLinkNetwork");
  });

  test("a viewer sees no token", async () => {
    const gateway = await makeGateway(world, await product());
    const key = await world.keyOf("viewer");
    const seen = (await world.call("GET", `${path}/${gateway.id}`, undefined, { key })).record;
    assert.is(seen.token, null);
    const list = await world.call("GET", `${path}?deviceID=${gateway.deviceID}`, undefined, { key });
    assert.is(list.page.items[0]?.token, null);
  });

  test("a gateway connects, is seen online, and is thrown out when it is deleted", async () => {
    const gateway = await makeGateway(world, await product());
    const client = await world.connect(gateway);
    const online = async () => (await world.call("GET", `${path}/${gateway.id}`)).record.deviceStatus === 1;
    await until(online, { what: "the gateway to be online" });
    const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
    assert.is((await world.call("DELETE", `${path}?ids=${gateway.id}`)).status, 204);
    await closed;
    const again = () => world.call("POST", path, gatewayBody(shared as Rec, { deviceID: gateway.deviceID }));
    await until(async () => (await again()).status === 201, { what: "the deviceID to be free" });
  });
});

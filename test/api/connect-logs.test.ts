import { makeDevice, makeGateway, makeProduct } from "../factories.js";
import { connectPacket, rawClient, rawConnected } from "../ingest/support.js";
import { assert, until } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const common = ["id", "deviceID", "deviceName", "IP", "keepAlive", "tenantID", "createAt", "updateAt"];

worldSuite("connect logs", (test, world) => {
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });
  const list = (path: string, query = "", variant = "A", key?: string) =>
    world.call("GET", `/api/v1/${path}?${query}`, undefined, {
      headers: { "Api-Variant": variant },
      ...(key === undefined ? {} : { key }),
    });
  /** Connects and leaves; then what came of it is on record. */
  const visit = async (device: Rec, keepalive = 30): Promise<void> => {
    const raw = await rawConnected(world.mqtt, device, { keepalive });
    raw.send({ cmd: "disconnect" });
    await raw.ended();
  };
  /** Tries to connect and is refused with the code. */
  const tryTo = async (device: Rec, returnCode: number, password = "wrong"): Promise<void> => {
    const raw = await rawClient(world.mqtt);
    raw.send(connectPacket(device, { password, keepalive: 7 }));
    assert.is((await raw.next("connack")).returnCode, returnCode);
    await raw.ended();
  };
  const counted = (device: Rec, count: number, variant = "A") =>
    until(
      async () => {
        const { page } = await list(`devices/${device.id}/connect_logs`, "", variant);
        return page.meta.count === count && page.items;
      },
      { what: `${count} logs` },
    );

  test("coming and going, newest first, in the form of each variant", async () => {
    const device = await makeDevice(world, product);
    await visit(device);
    const [gone, come] = await counted(device, 2);
    hasKeys(gone, [...common, "connectStatus", "connectStatusLabel"]);
    assert.equal([gone?.connectStatus, gone?.connectStatusLabel], [0, "下线"]);
    assert.equal([come?.connectStatus, come?.connectStatusLabel, come?.keepAlive], [1, "上线", 30]);
    assert.equal(
      [come?.deviceID, come?.deviceName, come?.IP, come?.updateAt],
      [device.deviceID, device.deviceName, "127.0.0.1", null],
    );
    assert.match(String(come?.createAt), stampPattern);
    const { record: me } = await world.call("GET", "/api/v1/me");
    assert.is(come?.tenantID, me.tenantID);
    const b = await counted(device, 2, "B");
    hasKeys(b[0], [...common, "deviceStatus", "deviceStatusLabel"]);
    assert.equal(
      b.map((item) => [item.id, item.deviceStatus, item.deviceStatusLabel]),
      [
        [gone?.id, 0, "下线"],
        [come?.id, 1, "上线"],
      ],
    );
    const all = await list("device_connect_logs", `deviceID=${device.deviceID}`);
    assert.equal(all.page.items, [gone, come]);
  });

  test("a refused device is status 2 in Variant B, and not there in A", async () => {
    const device = await makeDevice(world, product);
    await tryTo(device, 4);
    const [denied] = await counted(device, 1, "B");
    assert.equal(
      [denied?.deviceStatus, denied?.deviceStatusLabel, denied?.IP, denied?.keepAlive],
      [2, "认证失败", "127.0.0.1", 7],
    );
    assert.is((await list(`devices/${device.id}/connect_logs`)).page.meta.count, 0);
    const own = `deviceID=${device.deviceID}`;
    assert.is((await list("device_connect_logs", own)).page.meta.count, 0);
    assert.is((await list("device_connect_logs", own, "B")).page.meta.count, 1);
    await visit(device);
    const merged = await counted(device, 3, "B");
    assert.equal(
      merged.map((item) => item.deviceStatus),
      [0, 1, 2],
    );
    const status = async (query: string, variant: string) =>
      (await list("device_connect_logs", `${own}&${query}`, variant)).page.items.map(({ id }) => id);
    assert.equal(await status("deviceStatus=2", "B"), [denied?.id]);
    assert.equal(await status("connectStatus=2", "A"), []);
    assert.equal(await status("connectStatus=1", "A"), [merged[1]?.id]);
    assert.equal(await status("connectStatus=1", "B"), [merged[1]?.id]);
  });

  test("blocked is a failed authentication; a user name that nobody has is no log; guessing is counted", async () => {
    const device = await makeDevice(world, product);
    await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 });
    await tryTo(device, 5, String(device.token));
    assert.is((await counted(device, 1, "B"))[0]?.deviceStatus, 2);
    await tryTo({ ...device, deviceUsername: "nobody" }, 4);
    // More would have to wait.
    const guesses = 10;
    for (let i = 0; i < guesses; i++) await tryTo(device, 4);
    const { text } = await world.call("GET", "/metrics");
    const unrecorded = Number(/^tidemark_denials_unrecorded_total (\d+)$/m.exec(text)?.[1]);
    const recorded = await until(
      async () => {
        const { page } = await list(`devices/${device.id}/connect_logs`, "", "B");
        return page.meta.count + unrecorded >= guesses + 1 && page.meta.count;
      },
      { what: "every guess recorded or counted" },
    );
    assert.ok(recorded <= 6, `${recorded} in a few seconds`);
  });

  test("filters", async () => {
    const device = await makeDevice(world, product);
    const gateway = await makeGateway(world, product);
    await visit(device, 11);
    await visit(gateway, 12);
    await counted(device, 2);
    await counted(gateway, 2);
    const found = async (query: string) =>
      (await list("device_connect_logs", query)).page.items.map((item) => item.deviceName);
    const both = [gateway.gatewayName, gateway.gatewayName, device.deviceName, device.deviceName];
    assert.equal(await found("IP_like=127.0&_limit=4"), both);
    assert.equal(await found(`deviceName_like=${String(device.deviceName).toUpperCase()}`), both.slice(2));
    assert.equal(await found(`deviceID=${gateway.deviceID}&IP=127.0.0.1`), both.slice(0, 2));
    assert.equal(await found("keepAlive=11"), both.slice(2));
    assert.equal(await found("IP=10.1.1.1"), []);
    refused(await list("device_connect_logs", "connectStatus=x"), "PARAMETER_INVALID", "connectStatus");
    const own = await list(`devices/${device.deviceID}/connect_logs`, "_limit=1&_page=2&connectStatus=");
    assert.equal([own.page.items[0]?.connectStatus, own.page.meta.count], [1, 2]);
    for (const text of ["'--", "%F0%9F%A6%89", "x".repeat(256)]) {
      for (const field of ["deviceName", "deviceID", "IP"]) {
        assert.equal(await found(`${field}_like=${text}`), []);
      }
    }
  });

  test("of another tenant they are not there", async () => {
    const device = await makeDevice(world, product);
    await visit(device);
    const key = await world.otherTenant();
    assert.is((await list("device_connect_logs", "", "B", key)).page.meta.count, 0);
    refused(await list(`devices/${device.id}/connect_logs`, "", "B", key), "DATA_NOT_FOUND");
    for (const id of unknownIDs) refused(await list(`devices/${id}/connect_logs`), "DATA_NOT_FOUND");
  });
});

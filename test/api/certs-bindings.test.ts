import { makeCert, makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { badValues, unknownIDs } from "./resource.js";

worldSuite("cert bindings", (test, world) => {
  const bind = (device: Rec, body: unknown) => world.call("POST", `/api/v1/devices/${device.id}/certs`, body);
  const unbind = (device: Rec, ids: string) =>
    world.call("DELETE", `/api/v1/devices/${device.id}/certs?ids=${ids}`);
  const items = async (path: string) => (await world.call("GET", `/api/v1/${path}`)).page.items;
  const ids = async (path: string) => (await items(path)).map(({ id }) => id);
  const newDevice = async (fields?: object) => makeDevice(world, await makeProduct(world), { ...fields });

  test("bound certificates and devices are seen from both ends", async () => {
    const device = await newDevice({ deviceType: 3, upLinkSystem: null });
    const [one, other] = [await makeCert(world), await makeCert(world)];
    const reply = await bind(device, { ids: [one.id, String(other.id), one.id] });
    assert.equal([reply.status, reply.text], [201, ""]);
    const { page } = await world.call("GET", `/api/v1/devices/${device.deviceID}/certs`);
    assert.equal(page.meta, { count: 2, limit: 10, page: 1 });
    assert.equal(
      page.items,
      [other, one].map(({ id, name, enable, createAt }) => ({ id, name, enable, createAt })),
    );
    assert.equal(await ids(`devices/${device.id}/certs?name=${other.name}`), [other.id]);
    assert.equal(await items(`certs/${one.id}/devices`), [
      {
        id: device.id,
        deviceID: device.deviceID,
        deviceName: device.deviceName,
        deviceTypeLabel: "智能手机",
      },
    ]);
    assert.equal(await ids(`certs/${one.id}/devices?deviceName_like=no-such`), []);
  });

  test("gateways have certificates too", async () => {
    const gateway = await makeGateway(world, await makeProduct(world));
    const cert = await makeCert(world);
    assert.ok((await ids(`platform_select/certs/${cert.id}/not_joined_devices`)).includes(gateway.id));
    assert.is((await bind(gateway, { ids: [cert.id] })).status, 201);
    const headers = { "Api-Variant": "B" };
    const { page } = await world.call("GET", `/api/v1/certs/${cert.id}/devices`, undefined, { headers });
    assert.equal([page.items[0]?.id, page.items[0]?.deviceTypeLabel], [gateway.id, "网关"]);
    assert.is((await unbind(gateway, `${cert.id}`)).status, 204);
  });

  test("binding twice is no error and leaves one trace; unbinding what is not bound is 404", async () => {
    const device = await newDevice();
    const cert = await makeCert(world);
    const traces = async () =>
      (await items(`changes?entity=cert_device&recordID=${cert.id}`)).map(({ action, detail }) => ({
        action,
        detail,
      }));
    const replies = await Promise.all(Array.from({ length: 5 }, () => bind(device, { ids: [cert.id] })));
    for (const { status } of replies) assert.is(status, 201);
    assert.equal(await ids(`devices/${device.id}/certs`), [cert.id]);
    const detail = { deviceIntIDs: [device.id] };
    assert.equal(await traces(), [{ action: "create", detail }]);
    const gone = await Promise.all(Array.from({ length: 5 }, () => unbind(device, `${cert.id}`)));
    assert.is(gone.filter(({ status }) => status === 204).length, 1);
    for (const reply of gone) if (reply.status !== 204) refused(reply, "DATA_NOT_FOUND");
    assert.equal(await traces(), [
      { action: "delete", detail },
      { action: "create", detail },
    ]);
  });

  test("bind and unbind are all or nothing", async () => {
    const device = await newDevice();
    const [bound, free] = [await makeCert(world), await makeCert(world)];
    for (const id of unknownIDs.map(decodeURIComponent)) {
      refused(await bind(device, { ids: [bound.id, id] }), "DATA_NOT_FOUND");
    }
    assert.equal(await ids(`devices/${device.id}/certs`), []);
    assert.is((await bind(device, { ids: [bound.id] })).status, 201);
    refused(await unbind(device, `${bound.id},${free.id}`), "DATA_NOT_FOUND");
    assert.equal(await ids(`devices/${device.id}/certs`), [bound.id]);
    assert.is((await bind(device, { ids: [] })).status, 201);
  });

  test("what can still be bound is found by the names of device, product and group", async () => {
    const product = await makeProduct(world, { productName: "Pumps of hall 7" });
    const [device, other] = [await makeDevice(world, product), await makeDevice(world, product)];
    for (const groupName of ["North 100%", "South_1"]) {
      const group = await makeGroup(world, product, { groupName });
      const reply = await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
      assert.is(reply.status, 201, reply.text);
    }
    const cert = await makeCert(world);
    const path = `platform_select/certs/${cert.id}/not_joined_devices`;
    const [found] = await items(`${path}?groupName_like=north`);
    assert.equal(found, { id: device.id, deviceName: device.deviceName, productName: product.productName });
    assert.equal(await ids(`${path}?groupName_like=SOUTH_&productName_like=hall`), [device.id]);
    assert.equal(await ids(`${path}?groupName_like=south&groupName=North%20100%25`), [device.id]);
    assert.equal(await ids(`${path}?groupName_like=%25%25`), []);
    assert.equal(await ids(`${path}?productName_like=pumps`), [other.id, device.id]);
    assert.equal(await ids(`${path}?deviceName_like=${other.deviceName}&productName_like=pumps`), [other.id]);
    await bind(other, { ids: [cert.id] });
    assert.equal(await ids(`${path}?productName_like=pumps`), [device.id]);
  });

  test("the certificates that can still be bound, as labels and values", async () => {
    const device = await newDevice();
    const [one, other] = [await makeCert(world), await makeCert(world)];
    const choices = async () =>
      (await world.call("GET", `/api/v1/platform_select/devices/${device.deviceID}/not_joined_certs`)).list;
    const before = await choices();
    assert.equal(before.slice(0, 2), [
      { label: other.name, value: other.id },
      { label: one.name, value: one.id },
    ]);
    await bind(device, { ids: [other.id] });
    assert.equal(await choices(), before.slice(1));
  });

  test("nothing of another tenant is there, and viewers only read", async () => {
    const device = await newDevice();
    const cert = await makeCert(world);
    assert.is((await bind(device, { ids: [cert.id] })).status, 201);
    const key = await world.otherTenant();
    const viewer = await world.keyOf("viewer");
    const ofDevice = `/api/v1/devices/${device.id}/certs`;
    const calls = [
      ["GET", ofDevice, undefined],
      ["POST", ofDevice, { ids: [] }],
      ["DELETE", `${ofDevice}?ids=${cert.id}`, undefined],
      ["GET", `/api/v1/certs/${cert.id}/devices`, undefined],
      ["GET", `/api/v1/platform_select/certs/${cert.id}/not_joined_devices`, undefined],
      ["GET", `/api/v1/platform_select/devices/${device.id}/not_joined_certs`, undefined],
    ] as const;
    for (const [method, path, body] of calls) {
      refused(await world.call(method, path, body, { key }), "DATA_NOT_FOUND");
      refused(await world.call(method, path, body, { key: null }), "AUTH_FAILED", "token");
      const seen = await world.call(method, path, body, { key: viewer });
      if (method === "GET") assert.is(seen.status, 200, path);
      else refused(seen, "PERMISSION_DENIED");
    }
    const theirs = await world.make("/api/v1/certs", { name: "theirs", enable: 1 }, { key });
    refused(await bind(device, { ids: [theirs.id] }), "DATA_NOT_FOUND");
    hasKeys((await items(`devices/${device.id}/certs`))[0], ["id", "name", "enable", "createAt"]);
  });

  test("ids must be an array of ids; nothing fails inside", async () => {
    const device = await newDevice();
    for (const ids of [undefined, null, "1", 1, {}, Array.from({ length: 1001 }, (_, i) => i)]) {
      refused(await bind(device, { ids }), "PARAMETER_INVALID", "ids");
    }
    for (const value of badValues) {
      for (const body of [{ ids: value }, { ids: [value] }]) {
        const { status, text } = await bind(device, body);
        assert.ok([201, 400, 404].includes(status), text);
      }
    }
    for (const ids of ["", ",", "1,"]) refused(await unbind(device, ids), "PARAMETER_INVALID", "ids");
  });
});

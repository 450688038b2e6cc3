import { makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const formB = [
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
  ...["productID", "productName", "deviceType", "deviceTypeLabel", "status", "statusLabel", "manufacturer"],
  ...["serialNumber", "softVersion", "hardwareVersion", "description", "location", "tenantID", "userIntID"],
];

worldSuite("group members", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };
  const ids = (records: readonly { readonly id: number }[]) => records.map((one) => one.id);
  const pathOf = (group: Rec) => `/api/v1/groups/${group.id}/devices`;
  const add = (group: Rec, devices: readonly unknown[]) =>
    world.call("POST", pathOf(group), { ids: devices });
  const remove = (group: Rec, text: string) => world.call("DELETE", `${pathOf(group)}?ids=${text}`);
  const members = async (group: Rec, query = "") =>
    (await world.call("GET", `${pathOf(group)}?_limit=1000${query}`)).page.items;
  const choices = async (group: Rec, query = "") =>
    (await world.call("GET", `/api/v1/platform_select/groups/${group.id}/not_joined_devices?${query}`)).list;

  test("devices join by record id or string id, are listed newest first, and leave", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const [a, b, c] = [
      await makeDevice(world, owner),
      await makeDevice(world, owner),
      await makeDevice(world, owner),
    ];
    const added = await add(group, [a.id, String(b.id), c.deviceID, c.id]);
    assert.equal([added.status, added.text], [201, ""]);
    assert.equal(ids(await members(group)), [c.id, b.id, a.id]);
    assert.equal(
      (await world.call("GET", `/api/v1/groups?groupID=${group.groupID}`)).page.items[0]?.deviceCount,
      3,
    );
    const removed = await remove(group, `${a.id},${c.deviceID}`);
    assert.equal([removed.status, removed.text], [204, ""]);
    assert.equal(ids(await members(group)), [b.id]);
    const byText = `/api/v1/groups/${group.groupID}/devices`;
    assert.is((await world.call("POST", byText, { ids: [] })).status, 201);
    assert.equal(ids((await world.call("GET", byText)).page.items), [b.id]);
  });

  test("members have the device form of Variant B in both variants", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const device = await makeDevice(world, owner, { deviceType: 3, upLinkSystem: null });
    await add(group, [device.id]);
    const [member] = await members(group);
    hasKeys(member, formB);
    assert.equal(
      [member?.deviceType, member?.deviceTypeLabel, member?.status, member?.statusLabel, member?.token],
      [2, "智能手机", 0, "离线", device.token],
    );
    const inB = await world.call("GET", pathOf(group), undefined, { headers: { "Api-Variant": "B" } });
    assert.equal(inB.page.items[0], member);
    const key = await world.keyOf("viewer");
    assert.is((await world.call("GET", pathOf(group), undefined, { key })).page.items[0]?.token, null);
  });

  test("members are filtered and paged as devices are", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const named = await makeDevice(world, owner, { deviceName: "Vane of the roof" });
    await makeDevice(world, owner, { deviceName: "Vane of the cellar" });
    const others = [await makeDevice(world, owner), await makeDevice(world, owner)];
    await add(group, ids([named, ...others]));
    assert.equal(ids(await members(group, "&deviceName_like=vane")), [named.id]);
    assert.equal(ids(await members(group, `&deviceID=${named.deviceID}&deviceType=0`)), [named.id]);
    const { page } = await world.call("GET", `${pathOf(group)}?_limit=2&_page=2`);
    assert.equal([ids(page.items), page.meta], [[named.id], { count: 3, limit: 2, page: 2 }]);
    refused(await world.call("GET", `${pathOf(group)}?_limit=1001`), "PARAMETER_INVALID", "_limit");
  });

  test("only devices of the group's product join; an unknown one is 404; none joins then", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const device = await makeDevice(world, owner);
    const alien = await makeDevice(world, await makeProduct(world));
    refused(await add(group, [device.id, alien.id]), "PARAMETER_INVALID", "ids");
    for (const id of unknownIDs) {
      const text = decodeURIComponent(id);
      refused(await add(group, [device.id, text]), "DATA_NOT_FOUND");
    }
    assert.equal(await members(group), []);
  });

  test("gateways are in no group, in neither variant", async () => {
    const owner = await makeProduct(world);
    const group = await makeGroup(world, owner);
    const gateway = await makeGateway(world, owner);
    for (const id of [gateway.id, gateway.deviceID]) refused(await add(group, [id]), "DATA_NOT_FOUND");
    const asB = { headers: { "Api-Variant": "B" } };
    refused(await world.call("POST", pathOf(group), { ids: [gateway.id] }, asB), "DATA_NOT_FOUND");
    refused(await remove(group, String(gateway.id)), "DATA_NOT_FOUND");
    assert.equal(await choices(group), []);
  });

  test("joining twice is no error, leaving twice is 404, all or nothing", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const [a, b] = [await makeDevice(world, owner), await makeDevice(world, owner)];
    for (const _ of [1, 2]) assert.is((await add(group, [a.id])).status, 201);
    assert.equal(ids(await members(group)), [a.id]);
    refused(await remove(group, `${a.id},${b.id}`), "DATA_NOT_FOUND");
    refused(await remove(group, `${a.id},99999999`), "DATA_NOT_FOUND");
    assert.equal(ids(await members(group)), [a.id]);
    assert.is((await remove(group, `${a.id},${a.id}`)).status, 204);
    refused(await remove(group, `${a.id}`), "DATA_NOT_FOUND");
    for (const wrong of ["", ",", "1,,2"]) refused(await remove(group, wrong), "PARAMETER_INVALID", "ids");
  });

  test("ids of another shape are refused by name", async () => {
    const group = await makeGroup(world, await product());
    for (const wrong of [undefined, null, "1", 1, {}, [null], [1.5], [[1]], [true], [""], [2 ** 53]]) {
      const reply = await world.call("POST", pathOf(group), { ids: wrong });
      assert.ok(
        [reply.status, Object.keys(reply.failure.errors)[0]?.split(".")[0]].join() === "400,ids",
        reply.text,
      );
    }
    const many = (length: number) => Array.from({ length }, (_, i) => 10_000_000 + i);
    refused(await add(group, many(1001)), "PARAMETER_INVALID", "ids");
    refused(await add(group, many(1000)), "DATA_NOT_FOUND");
    for (const body of ["[]", "1", "{", ""])
      refused(await world.call("POST", pathOf(group), body), "BAD_REQUEST");
  });

  test("each pair of parallel joins and leaves is there once, and leaves once", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const devices = await Promise.all(Array.from({ length: 6 }, () => makeDevice(world, owner)));
    const joins = await Promise.all(devices.map((_, i) => add(group, ids(devices.slice(0, i + 1)))));
    assert.ok(joins.every((reply) => reply.status === 201));
    assert.is((await members(group)).length, 6);
    const all = ids(devices).join(",");
    const leaves = await Promise.all(devices.map(() => remove(group, all)));
    assert.equal(leaves.map((reply) => reply.status).sort(), [204, 404, 404, 404, 404, 404]);
    assert.equal(await members(group), []);
  });

  test("a device that is deleted leaves its groups; a group that is deleted leaves its devices alone", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const [a, b] = [await makeDevice(world, owner), await makeDevice(world, owner)];
    await add(group, ids([a, b]));
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${a.id}`)).status, 204);
    assert.equal(ids(await members(group)), [b.id]);
    assert.is((await world.call("DELETE", `/api/v1/groups?ids=${group.id}`)).status, 204);
    refused(await world.call("GET", pathOf(group)), "DATA_NOT_FOUND");
    assert.is((await world.call("GET", `/api/v1/devices/${b.id}`)).status, 200);
  });

  test("not_joined_devices: label and value of the product's devices that are not in the group", async () => {
    const owner = await makeProduct(world);
    const group = await makeGroup(world, owner);
    await makeDevice(world, await product());
    const [a, b, c] = [
      await makeDevice(world, owner),
      await makeDevice(world, owner),
      await makeDevice(world, owner),
    ];
    await add(group, [b.id]);
    const choice = (device: Rec) => ({ label: device.deviceName, value: device.id });
    assert.equal(await choices(group), [choice(c), choice(a)]);
    assert.equal(await choices(group, "_limit=1"), [choice(c)]);
    const part = encodeURIComponent(String(a.deviceName).toUpperCase());
    assert.equal(await choices(group, `deviceName_like=${part}&_limit=`), [choice(a)]);
    const url = `/api/v1/platform_select/groups/${group.id}/not_joined_devices`;
    for (const wrong of ["0", "x", "1001"]) {
      refused(await world.call("GET", `${url}?_limit=${wrong}`), "PARAMETER_INVALID", "_limit");
    }
    assert.is((await world.call("GET", `${url}?deviceName_like=%00`)).status, 200);
  });

  test("each write leaves a change that names the devices", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const [a, b] = [await makeDevice(world, owner), await makeDevice(world, owner)];
    await add(group, [a.id]);
    await add(group, ids([a, b]));
    await add(group, ids([a, b]));
    await remove(group, `${a.id},${b.id}`);
    const { items } = (await world.call("GET", `/api/v1/changes?entity=group_member&recordID=${group.id}`))
      .page;
    assert.equal(
      items.map(({ action, detail }) => [action, detail]),
      [
        ["delete", { deviceIntIDs: ids([a, b]) }],
        ["create", { deviceIntIDs: [b.id] }],
        ["create", { deviceIntIDs: [a.id] }],
      ],
    );
  });

  test("groups and devices of another tenant are not there; a viewer only reads", async () => {
    const owner = await product();
    const group = await makeGroup(world, owner);
    const device = await makeDevice(world, owner);
    const key = await world.otherTenant();
    const choicesPath = `/api/v1/platform_select/groups/${group.id}/not_joined_devices`;
    const calls = [
      ["GET", pathOf(group), undefined],
      ["GET", choicesPath, undefined],
      ["POST", pathOf(group), { ids: [device.id] }],
      ["DELETE", `${pathOf(group)}?ids=${device.id}`, undefined],
    ] as const;
    for (const [method, url, body] of calls) {
      refused(await world.call(method, url, body, { key }), "DATA_NOT_FOUND");
      refused(await world.call(method, url, body, { key: null }), "AUTH_FAILED");
    }
    const theirs = await world.make("/api/v1/products", { productName: "Theirs", cloudProtocol: 1 }, { key });
    const theirGroup = await world.make(
      "/api/v1/groups",
      { groupName: "Theirs", productIntID: theirs.id },
      { key },
    );
    refused(await world.call("POST", pathOf(theirGroup), { ids: [device.id] }, { key }), "DATA_NOT_FOUND");
    const viewer = await world.keyOf("viewer");
    for (const [method, url, body] of calls) {
      const reply = await world.call(method, url, body, { key: viewer });
      if (method === "GET") assert.is(reply.status, 200);
      else refused(reply, "PERMISSION_DENIED");
    }
  });
});

import { makeDevice, makeGateway, makeGroup, makePolicy, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const asB = { headers: { "Api-Variant": "B" } };
const listed = [
  ...["id", "name", "topic", "access", "accessLabel", "allow", "allowLabel", "description", "mqtt_acl"],
  ...["userIntID", "createAt", "updateAt"],
];

worldSuite("policy bindings", (test, world) => {
  let shared: Rec | undefined;
  const product = async (): Promise<Rec> => {
    shared ??= await makeProduct(world);
    return shared;
  };
  const device = async () => makeDevice(world, await product());
  const ids = (records: readonly { readonly id: number }[]) => records.map((one) => one.id);
  const ofPolicy = (policy: Rec) => `/api/v1/policies/${policy.id}/devices`;
  const ofDevice = (one: Rec) => `/api/v1/devices/${one.id}/policies`;
  const items = async (url: string) => (await world.call("GET", url)).page.items;
  const bind = (policy: Rec, devicesIntID: unknown) => world.call("POST", ofPolicy(policy), { devicesIntID });

  test("a policy is bound to devices by record id, listed newest first, and unbound", async () => {
    const policy = await makePolicy(world);
    const [a, b] = [await device(), await device()];
    const bound = await bind(policy, [a.id, String(b.id), b.id]);
    assert.equal([bound.status, bound.text], [201, ""]);
    const { page } = await world.call("GET", ofPolicy(policy));
    const item = (one: Rec) => ({
      id: one.id,
      deviceID: one.deviceID,
      deviceName: one.deviceName,
      deviceTypeLabel: "终端",
    });
    assert.equal(page, { items: [item(b), item(a)], meta: { count: 2, limit: 10, page: 1 } });
    assert.equal(await items(`${ofPolicy(policy)}?deviceID_like=${a.deviceID}`), [item(a)]);
    const removed = await world.call("DELETE", `${ofPolicy(policy)}?ids=${a.id},${b.deviceID}`);
    assert.equal([removed.status, removed.text], [204, ""]);
    assert.equal(await items(ofPolicy(policy)), []);
  });

  test("devicesIntID is optional; what it names must be there; none is bound then", async () => {
    const policy = await makePolicy(world);
    const one = await device();
    for (const none of [undefined, null, []]) assert.is((await bind(policy, none)).status, 201);
    for (const unknown of [0, -1, 99_999_999]) {
      refused(await bind(policy, [one.id, unknown]), "DATA_NOT_FOUND");
    }
    for (const wrong of ["1", 1, {}, [null], [one.deviceID], [1.5], [[1]], [true], [2 ** 53]]) {
      const { status, failure } = await bind(policy, wrong);
      assert.equal([status, Object.keys(failure.errors)[0]?.split(".")[0]], [400, "devicesIntID"]);
    }
    const many = (length: number) => Array.from({ length }, (_, i) => 10_000_000 + i);
    refused(await bind(policy, many(1001)), "PARAMETER_INVALID", "devicesIntID");
    refused(await bind(policy, many(1000)), "DATA_NOT_FOUND");
    assert.equal(await items(ofPolicy(policy)), []);
  });

  test("a device is bound to policies, which answers the page of its policies", async () => {
    const one = await device();
    const [a, b, c] = [await makePolicy(world), await makePolicy(world), await makePolicy(world)];
    const bound = await world.call("POST", ofDevice(one), { ids: [a.id, String(b.id)] });
    assert.equal([bound.status, ids(bound.page.items)], [201, [b.id, a.id]]);
    hasKeys(bound.page.items[0], listed);
    assert.equal(bound.page.meta, { count: 2, limit: 10, page: 1 });
    const more = await world.call("POST", `${ofDevice(one)}?_limit=1`, { ids: [c.id] });
    assert.equal([ids(more.page.items), more.page.meta.count], [[c.id], 3]);
    const none = await world.call("POST", ofDevice(one), {});
    assert.equal([none.status, none.page.meta.count], [201, 3]);
    const byText = `/api/v1/devices/${one.deviceID}/policies`;
    assert.equal(ids(await items(`${byText}?name=${b.name}`)), [b.id]);
    assert.is((await world.call("DELETE", `${byText}?ids=${a.id},${c.id}`)).status, 204);
    assert.equal(ids(await items(byText)), [b.id]);
    assert.equal(ids(await items(ofPolicy(b))), [one.id]);
  });

  test("mqtt_acl has the id of each binding", async () => {
    const policy = await makePolicy(world);
    const get = async () =>
      (await world.call("GET", `/api/v1/policies/${policy.id}`)).record.mqtt_acl as Rec[];
    await bind(policy, ids([await device(), await device()]));
    const [newer, older] = await get();
    assert.ok(newer !== undefined && older !== undefined && newer.id > older.id);
    await bind(policy, [(await device()).id]);
    assert.equal((await get()).slice(1), [newer, older]);
    const edited = (await world.call("PUT", `/api/v1/policies/${policy.id}`, { mqtt_acl: [] })).record;
    assert.equal(edited.mqtt_acl, await get());
  });

  test("binding twice is no error, unbinding twice is 404, all or nothing, from both ends", async () => {
    const [policy, other] = [await makePolicy(world), await makePolicy(world)];
    const [a, b] = [await device(), await device()];
    for (const _ of [1, 2]) assert.is((await bind(policy, [a.id])).status, 201);
    assert.is((await world.call("POST", ofDevice(a), { ids: [policy.id] })).page.meta.count, 1);
    refused(await world.call("DELETE", `${ofPolicy(policy)}?ids=${a.id},${b.id}`), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", `${ofDevice(a)}?ids=${policy.id},${other.id}`), "DATA_NOT_FOUND");
    for (const id of unknownIDs) {
      refused(await world.call("DELETE", `${ofPolicy(policy)}?ids=${a.id},${id}`), "DATA_NOT_FOUND");
      refused(await world.call("DELETE", `${ofDevice(a)}?ids=${policy.id},${id}`), "DATA_NOT_FOUND");
    }
    assert.equal(ids(await items(ofPolicy(policy))), [a.id]);
    assert.is((await world.call("DELETE", `${ofDevice(a)}?ids=${policy.id}`)).status, 204);
    refused(await world.call("DELETE", `${ofPolicy(policy)}?ids=${a.id}`), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", ofPolicy(policy)), "PARAMETER_INVALID", "ids");
  });

  test("parallel binds from both ends make one binding each, parallel unbinds remove it once", async () => {
    const policies = await Promise.all(Array.from({ length: 4 }, () => makePolicy(world)));
    const devices = await Promise.all(Array.from({ length: 4 }, () => device()));
    const replies = await Promise.all([
      ...policies.map((policy) => bind(policy, ids(devices))),
      ...devices.map((one) => world.call("POST", ofDevice(one), { ids: ids(policies) })),
    ]);
    assert.ok(replies.every((reply) => reply.status === 201));
    for (const policy of policies) assert.is((await items(ofPolicy(policy))).length, 4);
    const [policy] = policies;
    const [one] = devices;
    if (policy === undefined || one === undefined) throw new Error("nothing was made");
    const removals = await Promise.all([
      world.call("DELETE", `${ofPolicy(policy)}?ids=${one.id}`),
      world.call("DELETE", `${ofDevice(one)}?ids=${policy.id}`),
      world.call("DELETE", `${ofPolicy(policy)}?ids=${one.id}`),
    ]);
    assert.equal(removals.map((reply) => reply.status).sort(), [204, 404, 404]);
  });

  test("not_joined_devices of a policy: those it can still be bound to, by device, product and group name", async () => {
    const policy = await makePolicy(world);
    const owner = await makeProduct(world);
    const [a, b, c] = [
      await makeDevice(world, owner),
      await makeDevice(world, owner),
      await makeDevice(world, owner),
    ];
    const group = await makeGroup(world, owner, { groupName: "Gauges 100%" });
    const second = await makeGroup(world, owner, { groupName: "Gauges too" });
    for (const one of [group, second])
      await world.make(`/api/v1/groups/${one.id}/devices`, { ids: [a.id, c.id] });
    await bind(policy, [c.id]);
    const url = `/api/v1/platform_select/policies/${policy.id}/not_joined_devices`;
    const found = async (query: string) => ids(await items(`${url}?_limit=1000&${query}`));
    const product_like = `productName_like=${String(owner.productName).toUpperCase()}`;
    assert.equal((await items(`${url}?${product_like}`))[0], {
      id: b.id,
      deviceName: b.deviceName,
      productName: owner.productName,
    });
    assert.equal(await found(product_like), [b.id, a.id]);
    assert.equal(await found(`deviceName_like=${a.deviceName}&${product_like}`), [a.id]);
    assert.equal(await found(`id=${a.id}&${product_like}`), [a.id]);
    assert.equal(await found(`id=${c.id}`), []);
    assert.equal(ids(await items(`/api/v1/policies/${policy.id}/devices?id=${c.id}`)), [c.id]);
    assert.equal(await items(`/api/v1/policies/${policy.id}/devices?id=${a.id}`), []);
    assert.equal(await found("groupName_like=GAUGES"), [a.id]);
    assert.equal(await found("groupName_like=100%25"), [a.id]);
    assert.equal(await found("groupName_like=1000"), []);
    const { page } = await world.call("GET", `${url}?${product_like}&_limit=1&_page=2`);
    assert.equal([ids(page.items), page.meta], [[a.id], { count: 2, limit: 1, page: 2 }]);
    for (const text of ["%00", "'--", "%E0%A4%A", "🦉"]) {
      assert.is((await world.call("GET", `${url}?groupName_like=${text}`)).status, 200);
    }
  });

  test("not_joined_policies of a device: those that can still be bound", async () => {
    const one = await device();
    const [a, b] = [
      await makePolicy(world, { name: "Free one" }),
      await makePolicy(world, { name: "Bound one" }),
    ];
    await world.call("POST", ofDevice(one), { ids: [b.id] });
    const url = `/api/v1/platform_select/devices/${one.id}/not_joined_policies`;
    const free = await items(`${url}?_limit=1000`);
    hasKeys(free[0], listed);
    assert.ok(ids(free).includes(a.id) && !ids(free).includes(b.id));
    assert.equal(ids(await items(`${url}?name_like=FREE`)), [a.id]);
    assert.equal(await items(`${url}?name_like=bound`), []);
  });

  test("bindings go with their policy and with their device", async () => {
    const [policy, other] = [await makePolicy(world), await makePolicy(world)];
    const [a, b] = [await device(), await device()];
    for (const one of [policy, other]) await bind(one, ids([a, b]));
    assert.is((await world.call("DELETE", `/api/v1/policies?ids=${policy.id}`)).status, 204);
    assert.equal(ids(await items(ofDevice(a))), [other.id]);
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${a.id}`)).status, 204);
    assert.equal(ids(await items(ofPolicy(other))), [b.id]);
    const kept = (await world.call("GET", `/api/v1/policies/${other.id}`)).record;
    assert.is((kept.mqtt_acl as Rec[]).length, 1);
  });

  test("each write leaves a change that names policy and devices", async () => {
    const [policy, other] = [await makePolicy(world), await makePolicy(world)];
    const [a, b] = [await device(), await device()];
    await bind(policy, ids([a, b]));
    await bind(policy, [a.id]);
    await world.call("POST", ofDevice(a), { ids: ids([policy, other]) });
    await world.call("DELETE", `${ofDevice(a)}?ids=${policy.id},${other.id}`);
    const of = async ({ id }: Rec) =>
      (await items(`/api/v1/changes?entity=policy_device&recordID=${id}`)).map(({ action, detail }) => [
        action,
        detail,
      ]);
    const only = { deviceIntIDs: [a.id] };
    assert.equal(await of(policy), [
      ["delete", only],
      ["create", { deviceIntIDs: ids([a, b]) }],
    ]);
    assert.equal(await of(other), [
      ["delete", only],
      ["create", only],
    ]);
  });

  test("deviceTypeLabel is of the variant in effect", async () => {
    const policy = await makePolicy(world);
    await bind(policy, [
      (await makeDevice(world, await product(), { deviceType: 3, upLinkSystem: null })).id,
    ]);
    for (const options of [{}, asB]) {
      const { page } = await world.call("GET", ofPolicy(policy), undefined, options);
      assert.is(page.items[0]?.deviceTypeLabel, "智能手机");
    }
  });

  test("gateways are bound as devices are; in Variant A they have no deviceType", async () => {
    const policy = await makePolicy(world);
    const gateway = await makeGateway(world, await product());
    const free = `/api/v1/platform_select/policies/${policy.id}/not_joined_devices`;
    const named = `deviceName_like=${gateway.gatewayName}`;
    assert.equal(ids(await items(`${free}?${named}`)), [gateway.id]);
    assert.is((await bind(policy, [gateway.id])).status, 201);
    assert.equal(await items(`${free}?${named}`), []);
    for (const [options, deviceTypeLabel] of [[{}, null] as const, [asB, "网关"] as const]) {
      const { page } = await world.call("GET", ofPolicy(policy), undefined, options);
      const { id, deviceID, gatewayName } = gateway;
      assert.equal(page.items, [{ id, deviceID, deviceName: gatewayName, deviceTypeLabel }]);
      const own = await world.call("GET", ofDevice(gateway), undefined, options);
      assert.equal(ids(own.page.items), [policy.id]);
    }
    assert.is((await world.call("DELETE", `${ofDevice(gateway)}?ids=${policy.id}`)).status, 204);
    assert.equal((await world.call("POST", ofDevice(gateway), { ids: [policy.id] })).status, 201);
    assert.is((await world.call("DELETE", `/api/v1/gateways?ids=${gateway.id}`)).status, 204);
    assert.equal(await items(ofPolicy(policy)), []);
  });

  test("a policy shows its newest 1,000 bindings, a group of Variant B its newest 1,000 devices", async () => {
    const owner = await makeProduct(world);
    const devices: number[] = [];
    while (devices.length < 1001) {
      const some = Math.min(100, 1001 - devices.length);
      devices.push(...ids(await Promise.all(Array.from({ length: some }, () => makeDevice(world, owner)))));
    }
    const newestFirst = [...devices].sort((a, b) => b - a);
    const [policy, group] = [await makePolicy(world), await makeGroup(world, owner)];
    const shows = async (url: string, field: string, cut: boolean) => {
      const list = await world.call("GET", `${url.replace(/\/\d+$/, "")}?_limit=1`, undefined, asB);
      const detail = await world.call("GET", url, undefined, asB);
      const edited = await world.call("PUT", url, {}, asB);
      for (const reply of [list, detail, edited]) {
        assert.is(reply.headers.get("truncated"), cut ? "true" : null);
        const [record = reply.record] = reply === list ? reply.page.items : [];
        assert.is((record[field] as Rec[]).length, 1000);
      }
      return ids(detail.record[field] as Rec[]);
    };
    for (const [from, to, cut] of [[0, 1000, false] as const, [1000, 1001, true] as const]) {
      const some = devices.slice(from, to);
      assert.is((await bind(policy, some)).status, 201);
      await world.make(`/api/v1/groups/${group.id}/devices`, { ids: some });
      await shows(`/api/v1/policies/${policy.id}`, "mqtt_acl", cut);
      await shows(`/api/v1/groups/${group.id}`, "devices", cut);
    }
    assert.equal(await shows(`/api/v1/groups/${group.id}`, "devices", true), newestFirst.slice(0, 1000));
    const list = async (url: string) => (await world.call("GET", `${url}?_limit=1000&_page=2`)).page;
    for (const url of [ofPolicy(policy), `/api/v1/groups/${group.id}/devices`]) {
      const page = await list(url);
      assert.equal([ids(page.items), page.meta.count], [newestFirst.slice(1000), 1001]);
    }
    const query = `ids=${devices.slice(0, 1000).join(",")}`;
    assert.is((await world.call("DELETE", `${ofPolicy(policy)}?${query}`)).status, 204);
    assert.is((await world.call("DELETE", `/api/v1/groups/${group.id}/devices?${query}`)).status, 204);
    assert.equal(ids(await items(ofPolicy(policy))), devices.slice(1000));
  });

  test("policies and devices of another tenant are not there; a viewer only reads", async () => {
    const [policy, one] = [await makePolicy(world), await device()];
    const key = await world.otherTenant();
    const theirs = await world.make(
      "/api/v1/policies",
      { name: "x", topic: "x", access: 0, allow: 0 },
      { key },
    );
    const helpers = "/api/v1/platform_select";
    const calls = [
      ["GET", ofPolicy(policy), undefined],
      ["GET", ofDevice(one), undefined],
      ["GET", `${helpers}/policies/${policy.id}/not_joined_devices`, undefined],
      ["GET", `${helpers}/devices/${one.id}/not_joined_policies`, undefined],
      ["POST", ofPolicy(policy), { devicesIntID: [] }],
      ["POST", ofDevice(one), { ids: [] }],
      ["DELETE", `${ofPolicy(policy)}?ids=${one.id}`, undefined],
      ["DELETE", `${ofDevice(one)}?ids=${policy.id}`, undefined],
    ] as const;
    for (const [method, url, body] of calls) {
      refused(await world.call(method, url, body, { key }), "DATA_NOT_FOUND");
      refused(await world.call(method, url, body, { key: null }), "AUTH_FAILED");
    }
    refused(
      await world.call("POST", ofPolicy(theirs), { devicesIntID: [one.id] }, { key }),
      "DATA_NOT_FOUND",
    );
    refused(await bind(theirs, [one.id]), "DATA_NOT_FOUND");
    refused(await world.call("POST", ofDevice(one), { ids: [theirs.id] }), "DATA_NOT_FOUND");
    const unbound = `${helpers}/policies/${theirs.id}/not_joined_devices`;
    assert.is((await world.call("GET", unbound, undefined, { key })).page.meta.count, 0);
    const viewer = await world.keyOf("viewer");
    for (const [method, url, body] of calls) {
      const reply = await world.call(method, url, body, { key: viewer });
      if (method === "GET") assert.is(reply.status, 200);
      else refused(reply, "PERMISSION_DENIED");
    }
  });
});

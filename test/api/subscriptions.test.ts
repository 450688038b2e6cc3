import { makeDevice, makeGroup, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { badValues, unknownIDs } from "./resource.js";

const keys = ["id", "topic", "qos", "createAt", "updateAt"];

worldSuite("subscriptions", (test, world) => {
  const owners: readonly { what: string; make(): Promise<string>; unknown: string }[] = [
    {
      what: "device",
      make: async () => `/api/v1/devices/${(await makeDevice(world, await makeProduct(world))).id}`,
      unknown: "/api/v1/devices",
    },
    {
      what: "group",
      make: async () => `/api/v1/groups/${(await makeGroup(world, await makeProduct(world))).id}`,
      unknown: "/api/v1/groups",
    },
    {
      what: "product",
      make: async () => `/api/v1/products/${(await makeProduct(world)).id}`,
      unknown: "/api/v1/products",
    },
  ];
  const remove = (path: string, ids: string) => world.call("DELETE", `${path}?ids=${ids}`);
  const ids = (items: readonly Rec[]) => items.map(({ id }) => id);

  for (const { what, make, unknown } of owners) {
    const of = async () => `${await make()}/subscriptions`;

    test(`${what}: made, listed newest first, removed`, async () => {
      const path = await of();
      const made = await world.make(path, { topic: "alarms/#" });
      hasKeys(made, keys);
      assert.match(String(made.createAt), stampPattern);
      assert.equal([made.topic, made.qos, made.updateAt], ["alarms/#", 1, null]);
      const other = await world.make(path, { topic: "+/state", qos: "2" });
      assert.is(other.qos, 2);
      const { page } = await world.call("GET", path);
      assert.equal(page.meta, { count: 2, limit: 10, page: 1 });
      assert.equal(page.items, [other, made]);
      assert.equal(ids((await world.call("GET", `${path}?topic_like=ALARMS`)).page.items), [made.id]);
      assert.equal(ids((await world.call("GET", `${path}?qos=2`)).page.items), [other.id]);
      const gone = await remove(path, `${made.id},${other.id},${made.id}`);
      assert.equal([gone.status, gone.text], [204, ""]);
      assert.equal((await world.call("GET", path)).page.items, []);
      refused(await remove(path, `${made.id}`), "DATA_NOT_FOUND");
    });

    test(`${what}: a second of one topic is refused, another's is not`, async () => {
      const path = await of();
      await world.make(path, { topic: "same" });
      refused(await world.call("POST", path, { topic: "same", qos: 0 }), "DATA_EXISTED", "topic");
      await world.make(await of(), { topic: "same" });
    });

    test(`${what}: of 20 at once exactly 10 are taken, the others are over the limit`, async () => {
      const path = await of();
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, i) => world.call("POST", path, { topic: `topic/${i}` })),
      );
      const taken = replies.filter(({ status }) => status === 201);
      assert.is(taken.length, 10);
      for (const reply of replies) if (reply.status !== 201) refused(reply, "RESOURCE_LIMITED");
      assert.equal(
        ids((await world.call("GET", `${path}?_limit=100`)).page.items),
        taken.map(({ record }) => record.id).sort((a, b) => b - a),
      );
      const [first] = taken;
      refused(await world.call("POST", path, { topic: first?.record.topic }), "DATA_EXISTED", "topic");
      refused(await world.call("POST", path, { topic: "one more" }), "RESOURCE_LIMITED");
      assert.is((await remove(path, `${first?.record.id}`)).status, 204);
      await world.make(path, { topic: "one more" });
    });

    test(`${what}: of parallel ones of one topic exactly one wins`, async () => {
      const path = await of();
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => world.call("POST", path, { topic: "t" })),
      );
      assert.is(replies.filter(({ status }) => status === 201).length, 1);
      for (const reply of replies) if (reply.status !== 201) refused(reply, "DATA_EXISTED", "topic");
    });

    test(`${what}: removing is all or nothing, also of what is another's`, async () => {
      const [path, other] = [await of(), await of()];
      const made = await world.make(path, { topic: "here" });
      const alien = await world.make(other, { topic: "there" });
      refused(await remove(path, `${made.id},${alien.id}`), "DATA_NOT_FOUND");
      for (const id of unknownIDs) refused(await remove(path, `${made.id},${id}`), "DATA_NOT_FOUND");
      assert.equal(ids((await world.call("GET", path)).page.items), [made.id]);
      assert.equal(ids((await world.call("GET", other)).page.items), [alien.id]);
      const replies = await Promise.all(Array.from({ length: 5 }, () => remove(path, `${made.id}`)));
      assert.is(replies.filter(({ status }) => status === 204).length, 1);
      for (const reply of replies) if (reply.status !== 204) refused(reply, "DATA_NOT_FOUND");
    });

    test(`${what}: of another tenant, or none, is not there; viewers only read`, async () => {
      const path = await of();
      const made = await world.make(path, { topic: "mine" });
      const options = { key: await world.otherTenant() };
      const viewer = { key: await world.keyOf("viewer") };
      for (const [method, url, body] of [
        ["GET", path, undefined],
        ["POST", path, { topic: "theirs" }],
        ["DELETE", `${path}?ids=${made.id}`, undefined],
      ] as const) {
        refused(await world.call(method, url, body, options), "DATA_NOT_FOUND");
        refused(await world.call(method, url, body, { key: null }), "AUTH_FAILED", "token");
        if (method !== "GET") refused(await world.call(method, url, body, viewer), "PERMISSION_DENIED");
      }
      assert.is((await world.call("GET", path, undefined, viewer)).page.meta.count, 1);
      for (const id of unknownIDs) {
        refused(await world.call("GET", `${unknown}/${id}/subscriptions`), "DATA_NOT_FOUND");
        const reply = await world.call("POST", `${unknown}/${id}/subscriptions`, { topic: "t" });
        refused(reply, "DATA_NOT_FOUND");
      }
    });
  }

  test("a topic must be a filter, qos 0 to 2; nothing fails inside", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const path = `/api/v1/devices/${device.deviceID}/subscriptions`;
    const wrong = [
      "",
      "a/#/b",
      "a#",
      "a/b+",
      "\u0000",
      "\ud800",
      "$share/g/t",
      "x".repeat(10_240),
      null,
      1,
      [],
    ];
    for (const topic of wrong)
      refused(await world.call("POST", path, { topic }), "PARAMETER_INVALID", "topic");
    refused(await world.call("POST", path, {}), "PARAMETER_INVALID", "topic");
    for (const qos of [3, -1, 0.5, "high", true, {}]) {
      refused(await world.call("POST", path, { topic: "t", qos }), "PARAMETER_INVALID", "qos");
    }
    assert.is((await world.make(path, { topic: "null/qos", qos: null })).qos, 1);
    for (const value of badValues) {
      for (const body of [{ topic: value }, { topic: "bad/qos", qos: value }]) {
        assert.ok(
          [201, 400, 403].includes((await world.call("POST", path, body)).status),
          JSON.stringify(body).slice(0, 80),
        );
      }
    }
  });

  test("every one leaves its trace, and goes with its owner", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const group = await makeGroup(world, product);
    const of = (collection: string, { id }: Rec) => `/api/v1/${collection}/${id}/subscriptions`;
    const made = await world.make(of("devices", device), { topic: "温度/+" });
    const trace = async () => (await world.call("GET", "/api/v1/changes?entity=subscription")).page.items[0];
    const created = await trace();
    assert.equal([created?.action, created?.recordID], ["create", made.id]);
    assert.equal(created?.detail, { deviceIntID: device.id, topic: "温度/+", qos: 1 });
    assert.is((await remove(of("devices", device), `${made.id}`)).status, 204);
    const removed = await trace();
    assert.equal([removed?.action, removed?.recordID], ["delete", made.id]);
    assert.equal(removed?.detail, { deviceIntID: device.id, topic: "温度/+" });
    refused(await remove(of("devices", device), `${made.id}`), "DATA_NOT_FOUND");
    assert.equal(await trace(), removed);

    for (const owner of ["devices", "groups", "products"] as const) {
      const record = { devices: device, groups: group, products: product }[owner];
      await world.make(of(owner, record), { topic: "t" });
      assert.is((await world.call("DELETE", `/api/v1/${owner}?ids=${record.id}`)).status, 204);
      refused(await world.call("GET", of(owner, record)), "DATA_NOT_FOUND");
    }
  });
});

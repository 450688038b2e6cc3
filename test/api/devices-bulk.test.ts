import { makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { type RawClient, rawConnected } from "../ingest/support.js";
import { assert, until } from "../suite.js";
import { type Rec, type Reply, refused, worldSuite } from "../world.js";
import { csvOf, ended, importFile } from "./transfer.js";

const path = "/api/v1/devices/bulk";

interface Outcome {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly errors: readonly { readonly id: number; readonly reason: string }[];
}

worldSuite("an action on many devices", (test, world) => {
  const post = (body: object, key?: string): Promise<Reply> =>
    world.call("POST", path, body, key === undefined ? {} : { key });
  const outcome = async (body: object): Promise<Outcome> => {
    const { state, msg } = await ended(world, await post(body));
    assert.is(state, "SUCCESS", JSON.stringify(msg));
    return msg as Outcome;
  };
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world);
  });
  const makeMany = async (count: number): Promise<Rec[]> => {
    const made: Rec[] = [];
    for (let i = 0; i < count; i++) made.push(await makeDevice(world, product));
    return made;
  };
  const idsOf = (records: readonly Rec[]) => records.map(({ id }) => id);

  test("a command reaches a thousand connected devices once each, and each has its log", async () => {
    const own = await makeProduct(world);
    const rows = Array.from({ length: 1000 }, (_, i) => ({
      ...{ deviceID: `many-${i}`, deviceName: `many ${i}`, deviceUsername: `many-${i}`, token: `t-${i}` },
      ...{ deviceType: 1, upLinkSystem: 1, productID: own.productID, cloudProtocol: 1, authType: 1 },
    }));
    const imported = await ended(world, await importFile(world, csvOf(rows)));
    assert.is(imported.state, "SUCCESS", JSON.stringify(imported.msg));
    const clients: RawClient[] = [];
    for (let at = 0; at < rows.length; at += 100) {
      const some = rows.slice(at, at + 100).map((row) => rawConnected(world.mqtt, row as unknown as Rec));
      clients.push(...(await Promise.all(some)));
    }
    const got = (client: RawClient) =>
      client.packets.flatMap((one) => (one.cmd === "publish" ? [String(one.payload)] : []));
    const filter = { productIntID: own.id };
    const told = await outcome({ filter, action: "command", payload: "open 🦉", qos: 1, ttl: 60 });
    assert.equal(told, { total: 1000, done: 1000, failed: 0, errors: [] });
    await until(() => clients.every((client) => got(client).length > 0), { what: "all commands" });
    assert.ok(clients.every((client) => got(client).join() === "open 🦉"));
    for (const client of clients) {
      for (const one of client.packets) {
        if (one.cmd === "publish") client.send({ cmd: "puback", messageId: one.messageId ?? 0 } as never);
      }
    }
    const logs = (status: number) =>
      world.call(
        "GET",
        `/api/v1/device_control_logs?productID=${own.productID}&publishStatus=${status}&_limit=1`,
      );
    await until(async () => (await logs(2)).page.meta.count === 1000, { what: "all receipts" });
    assert.is((await logs(2)).page.items[0]?.payload, "open 🦉");

    const blocked = await outcome({ filter: { ...filter, q: "many-1" }, action: "block" });
    assert.equal([blocked.total, blocked.done], [111, 111]);
    await until(() => clients.filter((client) => client.closed).length === 111, {
      what: "them to be thrown out",
    });
    await Promise.all(clients.filter(({ closed }) => !closed).map((client) => client.cut()));
    const all = await outcome({ filter, action: "delete" });
    assert.equal([all.total, all.done], [1000, 1000]);
  });

  test("devices that nobody can reach are reported with the reason", async () => {
    const devices = await makeMany(3);
    const { errors, ...counts } = await outcome({ ids: idsOf(devices), action: "command", payload: "x" });
    assert.equal(counts, { total: 3, done: 0, failed: 3 });
    assert.equal(
      errors.map(({ id }) => id),
      idsOf(devices),
    );
    assert.match(errors[0]?.reason ?? "", /nobody takes/);
  });

  test("block and unblock change what is not so yet, and leave their trace", async () => {
    const devices = await makeMany(3);
    const ids = idsOf(devices);
    const blocked = async () =>
      Promise.all(ids.map(async (id) => (await world.call("GET", `/api/v1/devices/${id}`)).record.blocked));
    assert.is((await outcome({ ids: ids.slice(1), action: "block" })).done, 2);
    assert.is((await outcome({ ids: [...ids, ...ids], action: "block" })).total, 3);
    assert.equal(await blocked(), [1, 1, 1]);
    const traces = await world.call("GET", `/api/v1/changes?entity=device&action=update&recordID=${ids[1]}`);
    assert.is(traces.page.meta.count, 1);
    await outcome({ ids, action: "unblock" });
    assert.equal(await blocked(), [0, 0, 0]);
  });

  test("groups take what fits; what is out already is no failure", async () => {
    const devices = await makeMany(2);
    const other = await makeDevice(world, await makeProduct(world));
    const gateway = await makeGateway(world, product);
    const { id: groupIntID } = await makeGroup(world, product);
    const ids = [...idsOf(devices), other.id, gateway.id];
    const { errors, ...counts } = await outcome({ ids, action: "addToGroup", groupIntID });
    assert.equal(counts, { total: 4, done: 2, failed: 2 });
    assert.equal(errors, [
      { id: other.id, reason: "the device is of another product than the group" },
      { id: gateway.id, reason: "gateways are in no group" },
    ]);
    const members = async () =>
      idsOf((await world.call("GET", `/api/v1/groups/${groupIntID}/devices`)).page.items);
    assert.equal((await members()).sort(), idsOf(devices).sort());
    assert.is((await outcome({ ids, action: "removeFromGroup", groupIntID })).done, 4);
    assert.equal(await members(), []);
  });

  test("a device that others refer to stays, and what it refers to; the others go", async () => {
    const [parent, middle, alone] = (await makeMany(3)) as [Rec, Rec, Rec];
    await world.call("PUT", `/api/v1/devices/${middle.id}`, { upLinkSystem: 3, parentDevice: parent.id });
    const child = await makeDevice(world, product, { upLinkSystem: 3, parentDevice: middle.id });
    const ids = idsOf([parent, middle, alone]);
    const { errors, ...counts } = await outcome({ ids, action: "delete" });
    assert.equal(counts, { total: 3, done: 1, failed: 2 });
    assert.equal(new Set(errors.map(({ id }) => id)), new Set([parent.id, middle.id]));
    refused(await world.call("GET", `/api/v1/devices/${alone.id}`), "DATA_NOT_FOUND");
    assert.is((await outcome({ ids: [...ids.slice(0, 2), child.id], action: "delete" })).done, 3);
  });

  test("another tenant's id, group or an unknown one is 404, and nothing happens", async () => {
    const [device] = (await makeMany(1)) as [Rec];
    const key = await world.otherTenant();
    const theirs = await world.make("/api/v1/products", { productName: "theirs", cloudProtocol: 1 }, { key });
    const group = await world.make(
      "/api/v1/groups",
      { groupName: "g", productID: theirs.productID },
      { key },
    );
    refused(await post({ ids: [device.id], action: "delete" }, key), "DATA_NOT_FOUND");
    refused(await post({ ids: [device.id, 999_999], action: "block" }), "DATA_NOT_FOUND");
    const to = { groupIntID: group.id };
    refused(await post({ ids: [device.id], action: "addToGroup", ...to }), "DATA_NOT_FOUND");
    const { blocked } = (await world.call("GET", `/api/v1/devices/${device.id}`)).record;
    assert.is(blocked, 0);
    const reply = await post({ filter: { productIntID: product.id }, action: "delete" }, key);
    const { msg } = await ended(world, reply, { key });
    assert.equal(msg, { total: 0, done: 0, failed: 0, errors: [] });
    refused(await world.call("GET", String(reply.record.statusUrl)), "DATA_NOT_FOUND");
  });

  test("viewers may do none of it; what is wrong is named", async () => {
    const [device] = (await makeMany(1)) as [Rec];
    const ids = [device.id];
    for (const action of ["block", "command"]) {
      const body = { ids, action, ...(action === "command" ? { payload: "x" } : {}) };
      refused(await post(body, await world.keyOf("viewer")), "PERMISSION_DENIED");
      assert.is((await post(body, await world.keyOf("operator"))).status, 202);
    }
    const wrong = async (body: object, ...fields: string[]) =>
      refused(await post(body), "PARAMETER_INVALID", ...fields);
    await wrong({ action: "block" }, "ids");
    await wrong({ action: "block", ids, filter: { kind: "device" } }, "ids");
    await wrong({ action: "block", ids: [] }, "ids");
    await wrong({ action: "block", ids: Array.from({ length: 1001 }, (_, i) => i + 1) }, "ids");
    await wrong({ action: "block", filter: {} }, "filter");
    await wrong({ action: "block", filter: { kind: "group" } }, "filter.kind");
    await wrong({ action: "explode", ids }, "action");
    await wrong({ action: "command", ids }, "payload");
    await wrong({ action: "command", ids, payload: "x", topic: "a/#" }, "topic");
    await wrong({ action: "block", ids, payload: "x", qos: 1 }, "payload", "qos");
    await wrong({ action: "addToGroup", ids }, "groupIntID");
    await wrong({ action: "delete", ids, groupIntID: 1 }, "groupIntID");
    assert.is((await post({ action: "block", ids, more: 1 })).status, 400);
    assert.is((await post({ action: "block", filter: { kind: "device", more: 1 } })).status, 400);
  });
});

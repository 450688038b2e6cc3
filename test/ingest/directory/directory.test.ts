import { setTimeout as delay } from "node:timers/promises";
import { createDirectory, type Directory } from "../../../ingest/directory/directory.js";
import { mayPublish } from "../../../ingest/policies.js";
import { type ChangeFeed, openChangeFeed } from "../../../store/metadata/db/changes.js";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import {
  createDevice,
  type DeviceStore,
  removeDevices,
  updateDevice,
} from "../../../store/metadata/devices/devices.js";
import { createGroup, removeGroups } from "../../../store/metadata/groups/groups.js";
import { bind, groupBinding, policyDevices, unbind } from "../../../store/metadata/policies/bindings.js";
import { createPolicy, removePolicies, updatePolicy } from "../../../store/metadata/policies/policies.js";
import {
  createSubscription,
  type SubscriptionOwner,
} from "../../../store/metadata/policies/subscriptions.js";
import {
  createDataPoint,
  removeDataPoints,
  updateDataPoint,
} from "../../../store/metadata/products/data-points.js";
import { createProduct } from "../../../store/metadata/products/products.js";
import { createTenant } from "../../../store/metadata/users/tenants.js";
import { assert, openTempDir, rejects, suite, until } from "../../suite.js";

suite("directory", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let store: DeviceStore;
  let directory: Directory;
  let feed: ChangeFeed;
  let actor = { tenant: 0, userIntID: null, username: null };
  let productIntID = 0;
  let heard: [number, boolean][] = [];
  const add = async (name: string) => {
    const names = { deviceID: name, deviceName: name, deviceUsername: name, token: `token of ${name}` };
    return (await createDevice(store, actor, 0, { ...names, productIntID })).id;
  };
  const addPoint = (name: string, dataTransType = 1) =>
    createDataPoint(store.db, actor, 0, productIntID, name, {
      dataPointName: name,
      pointDataType: 1,
      dataTransType,
    });

  const rule = (topic: string) => ({ name: topic, topic, access: 2, allow: 0, description: null });

  test.before.each(async () => {
    dir = await openTempDir();
    const db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    store = { db, vault: createVault(Buffer.alloc(32, 7)) };
    actor = { ...actor, tenant: (await createTenant(db, 0, "one")).id };
    productIntID = (
      await createProduct(db, actor, 0, { productName: "p", description: null, cloudProtocol: 1 })
    ).id;
    directory = createDirectory(store, 10);
    heard = [];
    directory.onDevice((id, entry) => heard.push([id, entry !== undefined]));
    feed = await openChangeFeed(db, directory.apply, 1000);
  });
  test.after.each(async () => {
    feed.close();
    await store.db.close();
    await dir.close();
  });

  test("only the end of a device that nobody has asked for is reported", async () => {
    const id = await add("a");
    await updateDevice(store, actor, 1, id, { blocked: 1 });
    await feed.poll();
    assert.equal(heard, []);
    await removeDevices(store, actor, 2, [id]);
    await feed.poll();
    assert.equal(heard, [[id, false]]);
  });

  test("what is below a device is read once, until a device comes, moves, is blocked or goes", async () => {
    const above = await add("above");
    const other = await add("other");
    let reads = 0;
    const all: Db["all"] = (sql, args) => {
      reads++;
      return store.db.all(sql, args);
    };
    const db: Db = { ...store.db, all };
    const watched = createDirectory({ ...store, db }, 10);
    const changes = await openChangeFeed(store.db, watched.apply, 1000);
    const below = async (id: number) => [...(await watched.below(id)).keys()];
    for (let n = 0; n < 1000; n++) assert.equal(await below(above), []);
    assert.is(reads, 1);

    const names = { deviceID: "b", deviceName: "b", deviceUsername: "b", token: "t", productIntID };
    const { id } = await createDevice(store, actor, 0, { ...names, upLinkSystem: 3, parentDevice: above });
    await changes.poll();
    assert.equal([await below(above), await below(other)], [["b"], []]);
    await updateDevice(store, actor, 1, id, { parentDevice: other });
    await changes.poll();
    assert.equal([await below(above), await below(other)], [[], ["b"]]);
    await updateDevice(store, actor, 2, id, { blocked: 1 });
    await changes.poll();
    assert.equal(await below(other), []);
    changes.close();
  });

  test("follows edits of a device on the same entry, and its end", async () => {
    const id = await add("a");
    const entry = await directory.findByUsername("a");
    assert.is(entry?.device.token, "token of a");
    await updateDevice(store, actor, 1, id, { blocked: 1 });
    await feed.poll();
    assert.is(entry?.device.blocked, 1);
    assert.is(directory.peek(id), entry);
    await removeDevices(store, actor, 2, [id]);
    await feed.poll();
    assert.is(directory.peek(id), undefined);
    assert.is(await directory.get(id), undefined);
    assert.is(await directory.findByUsername("a"), undefined);
    assert.equal(heard, [
      [id, true],
      [id, false],
    ]);
  });

  test("a device that goes while its product is read is not let in", async () => {
    const id = await add("a");
    let held: (() => void) | undefined;
    const slow = new Promise<void>((resolve) => {
      held = resolve;
    });
    const all: typeof store.db.all = async (sql, args) => {
      if (sql.includes("data_point")) await slow;
      return store.db.all(sql, args);
    };
    const other = createDirectory({ ...store, db: { ...store.db, all } }, 10);
    const otherFeed = await openChangeFeed(store.db, other.apply, 1000);
    const finding = other.findByUsername("a");
    await removeDevices(store, actor, 1, [id]);
    await otherFeed.poll();
    held?.();
    assert.is(await finding, undefined);
    otherFeed.close();
  });

  /** A directory whose every look at a device is followed by an edit, which its feed brings before the look ends if it may. */
  async function openHot(edit: () => Promise<unknown>) {
    let looks = 0;
    const all: typeof store.db.all = async (sql, args = []) => {
      const rows = await store.db.all(sql, args);
      if (sql.includes("policy_device")) {
        // What the feed reads again of a device that is in memory is no look for it.
        if ((args[0] as number[]).some((id) => hot.peek(id) === undefined)) looks++;
        // A write waits for the feed, and the feed may wait for this look.
        const edited = edit().then(() => hotFeed.poll());
        await Promise.race([edited, delay(300)]);
      }
      return rows as never;
    };
    const hot = createDirectory({ ...store, db: { ...store.db, all } }, 10);
    const hotFeed = await openChangeFeed(store.db, hot.apply, 1000);
    return { hot, feed: hotFeed, looks: () => looks };
  }

  test("edits of other records without end make no device be read again", async () => {
    const [id, other] = [await add("a"), await add("other")];
    const policy = await createPolicy(store.db, actor, 0, rule("x"));
    const second = await createProduct(store.db, actor, 0, {
      productName: "q",
      description: null,
      cloudProtocol: 1,
    });
    let n = 0;
    const { hot, feed, looks } = await openHot(async () => {
      n++;
      await updateDevice(store, actor, n, other, { description: `edit ${n}` });
      await updatePolicy(store.db, actor, n, policy.id, { topic: `x/${n}` });
      await createDataPoint(store.db, actor, 0, second.id, `p${n}`, {
        dataPointName: `p${n}`,
        pointDataType: 1,
        dataTransType: 1,
      });
      await bind(store.db, actor, 0, policyDevices, { owners: [policy.id], devices: [other] });
    });
    assert.is((await hot.findByUsername("a"))?.id, id);
    assert.is(looks(), 1);
    feed.close();
  });

  test("a device that is edited without end gets in at the third look, as it is then", async () => {
    const id = await add("a");
    let n = 0;
    let edits = true;
    const { hot, feed, looks } = await openHot(async () => {
      if (edits) await updateDevice(store, actor, ++n, id, { token: `token ${n}` });
    });
    const entries = await Promise.all([hot.findByUsername("a"), hot.get(id), hot.findByDeviceID("a")]);
    assert.equal(
      entries.map((entry) => entry?.id),
      [id, id, id],
    );
    assert.ok(looks() <= 3 * entries.length, `${looks()} looks`);
    // What was edited during the last look was applied after it.
    edits = false;
    await until(
      async () => {
        await feed.poll();
        return hot.peek(id)?.device.token === `token ${n}`;
      },
      { what: "the last edit" },
    );
    feed.close();
  });

  test("a read that fails in its turn with the feed is reported, and holds up nobody", async () => {
    const id = await add("a");
    let n = 0;
    const { hot, feed } = await openHot(async () => {
      if (++n === 3) throw new Error("away");
      await updateDevice(store, actor, n, id, { description: `edit ${n}` });
    });
    await rejects(() => hot.get(id), /away/);
    await add("b");
    await feed.poll();
    assert.ok(await hot.findByUsername("b"));
    feed.close();
  });

  test("an unknown name is asked for again: a device made later is found", async () => {
    assert.is(await directory.findByUsername("later"), undefined);
    await add("later");
    assert.ok(await directory.findByUsername("later"));
  });

  test("data points made, changed and deleted later reach devices already known", async () => {
    await add("a");
    const entry = await directory.findByUsername("a");
    const names = (): string[] => [...(entry?.product.points.keys() ?? [])];
    assert.equal(names(), []);
    const point = await addPoint("temp");
    await feed.poll();
    assert.equal(names(), ["temp"]);
    assert.is(entry?.product.points.get("temp")?.reportable, true);
    await updateDataPoint(store.db, actor, 1, point.id, { dataTransType: 2 });
    await feed.poll();
    assert.is(entry?.product.points.get("temp")?.reportable, false);
    await removeDataPoints(store.db, actor, 2, [point.id]);
    await feed.poll();
    assert.equal(names(), []);
  });

  test("a data point made again under an old name is another series", async () => {
    await add("a");
    const entry = await directory.findByUsername("a");
    if (entry === undefined) throw new Error("no device");
    const series = () => {
      const point = entry.product.points.get("temp");
      return point && entry.series(point);
    };
    const first = await addPoint("temp");
    await feed.poll();
    const before = series();
    assert.is(series(), before, "one object each time");
    await removeDataPoints(store.db, actor, 1, [first.id]);
    await addPoint("temp");
    await feed.poll();
    assert.is.not(series()?.field, before?.field);
    assert.is(series()?.deviceID, "a");
  });

  test("policies bound, edited, unbound and deleted later reach all their devices, and only those", async () => {
    const ids = [await add("a"), await add("b"), await add("c")];
    const [a, b, c] = await Promise.all(ids.map((id) => directory.get(id)));
    const may = (topic: string) => [a, b, c].map((entry) => mayPublish(entry ?? {}, topic));
    const policy = await createPolicy(store.db, actor, 0, rule("x"));
    assert.is(a?.access, null, "nothing to ask of a device without rules");
    const pairs = { owners: [policy.id], devices: ids.slice(0, 2) };
    await bind(store.db, actor, 0, policyDevices, pairs);
    await feed.poll();
    assert.equal(may("x"), [false, false, true]);
    await updatePolicy(store.db, actor, 1, policy.id, { topic: "%d" });
    await feed.poll();
    assert.equal(
      [may("x"), may("a")],
      [
        [true, true, true],
        [false, true, true],
      ],
    );
    await unbind(store.db, actor, 2, policyDevices, { ...pairs, devices: ids.slice(0, 1) });
    await feed.poll();
    assert.equal(
      [may("a"), may("b")],
      [
        [true, true, true],
        [true, false, true],
      ],
    );
    assert.is(a?.access, null);
    await removePolicies(store.db, actor, 3, [policy.id]);
    await feed.poll();
    assert.equal(may("b"), [true, true, true]);
  });

  test("a device renamed goes by its new name, one loaded later has what is bound to it", async () => {
    const id = await add("a");
    const policy = await createPolicy(store.db, actor, 0, rule("%u"));
    await bind(store.db, actor, 0, policyDevices, { owners: [policy.id], devices: [id] });
    const entry = await directory.findByUsername("a");
    if (entry === undefined) throw new Error("no device");
    assert.equal([mayPublish(entry, "a"), mayPublish(entry, "z")], [false, true]);
    await updateDevice(store, actor, 1, id, { deviceUsername: "z" });
    await feed.poll();
    assert.equal([mayPublish(entry, "a"), mayPublish(entry, "z")], [true, false]);
  });

  test("what the platform subscribes a device to: its own, its product's and its groups', published at each change", async () => {
    const id = await add("a");
    const entry = await directory.get(id);
    if (entry === undefined) throw new Error("no device");
    const told: string[][] = [];
    const topics = () => directory.platformSubscriptions(entry).map(({ topic, qos }) => `${topic} ${qos}`);
    directory.onSubscriptions((one) => {
      if (one === entry) told.push(topics());
    });
    const group = await createGroup(store.db, actor, 0, { groupName: "g", description: null, productIntID });
    const members = { owners: [group.id], devices: [id] };
    const make = (column: SubscriptionOwner["column"], owner: number, topic: string, qos: number) =>
      createSubscription(store.db, actor, 0, { column, id: owner }, { topic, qos });
    await make("deviceIntID", id, "own", 1);
    await make("productIntID", productIntID, "product", 0);
    await make("groupIntID", group.id, "group", 2);
    await feed.poll();
    assert.equal(topics().sort(), ["own 1", "product 0"]);
    await bind(store.db, actor, 0, groupBinding, members);
    await make("groupIntID", group.id, "own", 2);
    await feed.poll();
    assert.equal(topics().sort(), ["group 2", "own 2", "product 0"]);
    await removeGroups(store.db, actor, 1, [group.id]);
    await feed.poll();
    assert.equal(topics().sort(), ["own 1", "product 0"]);
    assert.equal(told.at(-1)?.sort(), topics().sort());
    assert.equal((await directory.findByUsername("a"))?.subscriptions.length, 1);
  });

  test("forgets the oldest beyond its bound, never one that a connection holds", async () => {
    const ids: number[] = [];
    for (let i = 0; i < 10; i++) ids.push(await add(`d${i}`));
    const [held = 0] = ids;
    directory.hold(held);
    directory.hold(held);
    directory.release(held);
    for (const id of ids) await directory.get(id);
    const extra = await add("extra");
    await directory.get(extra);
    assert.ok(directory.peek(held));
    assert.is(directory.peek(ids[1] as number), undefined);
    assert.ok(directory.peek(extra));
    assert.ok(await directory.get(ids[1] as number), "found again");
  });
});

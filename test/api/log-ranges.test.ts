/** `startTime` and `endTime` of logs and alerts: the start is taken, the end is not. */
import { makeDataPoint, makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";

const plain = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19).replace("T", " ");
const utcMs = (shown: unknown): number => Date.parse(`${String(shown).replace(" ", "T")}Z`);
const second = 1000;

worldSuite("ranges of logs and alerts", (test, world) => {
  let device: Rec = { id: 0 };
  let gateway: Rec = { id: 0 };
  let group: Rec = { id: 0 };
  /** Milliseconds since 1970, not on a second. */
  const alertAt = Math.floor(Date.now() / second) * second - 200 * second + 250;

  const get = (path: string, query: Readonly<Record<string, string>>) =>
    world.call("GET", `/api/v1/${path}?${new URLSearchParams({ _limit: "100", ...query })}`);
  const ids = async (path: string, query: Readonly<Record<string, string>>): Promise<number[]> => {
    const reply = await get(path, query);
    assert.is(reply.status, 200, reply.text);
    assert.is(reply.page.meta.count, reply.page.items.length);
    return reply.page.items.map(({ id }) => id);
  };

  test.before(async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, { upperLimit: 50 });
    device = await makeDevice(world, product);
    gateway = await makeGateway(world, product);
    group = await makeGroup(world, product);
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
    const key = String(point.dataPointID);
    const clients = [await world.connect(device), await world.connect(gateway)];
    const at = (seconds: number, value: number) => ({ time: alertAt + seconds * second, [key]: value });
    await world.publish(device, at(0, 51), at(1, 1), at(2, 52));
    await world.publish(gateway, { any: 1 });
    await world.alertsSettled();
    for (const { deviceID } of [device, gateway]) {
      await world.call("POST", "/api/v1/device_publish", { deviceID, payload: "go" });
    }
    await world.call("POST", "/api/v1/group_publish", { groupID: group.groupID, payload: "all" });
    for (const client of clients) await client.endAsync();
    for (const path of [`groups/${group.id}/control_logs`, "current_alerts", "history_alerts"]) {
      await until(async () => (await get(path, {})).page.items[0], { what: path });
    }
  });

  const logs = (): readonly string[] => [
    ...["device_events", `devices/${device.id}/events`, `gateways/${gateway.id}/events`],
    ...["device_connect_logs", `devices/${device.id}/connect_logs`],
    ...["device_control_logs", `devices/${device.id}/control_logs`],
    ...[`gateways/${gateway.id}/control_logs`, `groups/${group.id}/control_logs`],
  ];

  test("a log's range takes its start and leaves its end, in every form and zone", async () => {
    for (const path of logs()) {
      const { items } = (await get(path, {})).page;
      const [newest] = items;
      if (newest === undefined) throw new Error(`${path} is empty`);
      const from = utcMs(newest.createAt);
      const to = from + second;
      const within = items.filter(({ createAt }) => createAt === newest.createAt).map(({ id }) => id);
      const asked: readonly Readonly<Record<string, string>>[] = [
        { startTime: plain(from), endTime: plain(to) },
        { startTime: String(from), endTime: String(to) },
        { startTime: new Date(from).toISOString(), endTime: new Date(to).toISOString() },
        { startTime: plain(from + 32_400_000), endTime: plain(to + 32_400_000), timezone: "Asia/Tokyo" },
      ];
      for (const query of asked) assert.equal(await ids(path, query), within, path);
      const before = await ids(path, { endTime: plain(from) });
      const after = await ids(path, { startTime: plain(to) });
      assert.equal(
        [...within, ...before],
        items.map(({ id }) => id),
        path,
      );
      assert.equal(after, [], path);
      // Together with a filter, and with the equality of what is shown.
      assert.equal(await ids(path, { startTime: plain(from), createAt: String(newest.createAt) }), within);
      assert.equal(await ids(path, { startTime: plain(to), createAt: String(newest.createAt) }), []);
    }
  });

  test("an alert's range is that of its startTime, to the millisecond, and never an equality", async () => {
    for (const [path, startsAt] of [
      ["history_alerts", alertAt],
      ["current_alerts", alertAt + 2 * second],
    ] as const) {
      const all = await ids(path, {});
      assert.is(all.length, 1, path);
      assert.equal(await ids(path, { startTime: String(startsAt) }), all);
      assert.equal(await ids(path, { startTime: String(startsAt + 1) }), []);
      assert.equal(await ids(path, { endTime: String(startsAt) }), []);
      assert.equal(await ids(path, { endTime: String(startsAt + 1) }), all);
      const shown = plain(startsAt);
      assert.equal(await ids(path, { startTime: shown, endTime: plain(startsAt + second) }), all);
      assert.equal(await ids(path, { startTime: plain(startsAt - 60 * second) }), all);
      assert.equal(await ids(path, { endTime: plain(startsAt + 60 * second) }), all);
    }
  });

  test("a change's range is that of its at, with its start and without its end", async () => {
    const { items } = (await get("changes", {})).page;
    const [newest] = items;
    if (newest === undefined) throw new Error("no changes");
    const from = utcMs(newest.at);
    const to = from + second;
    const of = (keep: (at: number) => boolean) =>
      items.filter(({ at }) => keep(utcMs(at))).map(({ id }) => id);
    const within = of((at) => at >= from && at < to);
    assert.equal(await ids("changes", { startTime: plain(from), endTime: plain(to) }), within);
    const tokyo = { startTime: plain(from + 32_400_000), endTime: plain(to + 32_400_000) };
    assert.equal(await ids("changes", { ...tokyo, timezone: "Asia/Tokyo" }), within);
    assert.equal(
      await ids("changes", { endTime: String(from) }),
      of((at) => at < from),
    );
    assert.equal(await ids("changes", { startTime: String(to) }), []);
    assert.equal(await ids("changes", { startTime: plain(from), entity: "nothing" }), []);
  });

  test("what is no time, no zone or no range is refused by its name", async () => {
    const wrong = [
      [{ startTime: "yesterday" }, "startTime"],
      [{ endTime: "2026-02-30 00:00:00" }, "endTime"],
      [{ startTime: "2026-01-02 00:00:00", endTime: "2026-01-02 00:00:00" }, "endTime"],
      [{ startTime: "2", endTime: "1" }, "endTime"],
      [{ startTime: "2026-01-02 00:00:00", timezone: "Mars/Olympus" }, "timezone"],
    ] as const;
    for (const path of [...logs(), "current_alerts", "history_alerts", "changes"]) {
      for (const [query, field] of wrong) refused(await get(path, query), "PARAMETER_INVALID", field);
      const shown = path === "changes" ? "at" : "createAt";
      refused(await get(path, { [shown]: "soon" }), "PARAMETER_INVALID", shown);
    }
  });
});

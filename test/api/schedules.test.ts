import { makeDevice, makeGateway, makeGroup, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";
import { badValues, unknownIDs } from "./resource.js";

const keys = [
  ...[
    "id",
    "scheduleName",
    "scheduleType",
    "scheduleTypeLabel",
    "IntervalMinute",
    "IntervalHour",
    "IntervalWeek",
  ],
  ...[
    "crontabTime",
    "crontab",
    "nextAt",
    "payload",
    "topic",
    "publishType",
    "deviceIntID",
    "deviceName",
    "groupIntID",
    "groupName",
  ],
  ...["username", "createUser", "userIntID", "createAt", "updateAt"],
];
/** Wall clock in Shanghai, which has no summer time. */
const wall = (ms: number) => new Date(ms + 8 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");

const define = (
  test: Parameters<Parameters<typeof worldSuite>[1]>[0],
  world: Parameters<Parameters<typeof worldSuite>[1]>[1],
) => {
  let device: Rec;
  let group: Rec;
  test.before(async () => {
    const product = await makeProduct(world);
    device = await makeDevice(world, product);
    group = await makeGroup(world, product);
  });
  const paths = {
    device: "/api/v1/device_schedule_publish",
    group: "/api/v1/group_schedule_publish",
  } as const;
  type Kind = keyof typeof paths;
  const post = (kind: Kind, body: object, options = {}) => {
    const to = kind === "device" ? { deviceID: device.deviceID } : { groupID: group.groupID };
    const usual = { scheduleName: "Every day", payload: "on", scheduleType: 1, IntervalMinute: 60 };
    return world.call("POST", paths[kind], { ...to, ...usual, ...body }, options);
  };
  const list = async (path = "schedule_publish", query = "") =>
    (await world.call("GET", `/api/v1/${path}?${query}`)).page.items;
  const make = async (kind: Kind, body: object = {}): Promise<Rec> => {
    const reply = await post(kind, body);
    assert.equal([reply.status, reply.text], [201, ""]);
    const [newest] = await list();
    assert.ok(newest);
    return newest;
  };
  const remove = (kind: Kind, ids: string, options = {}) =>
    world.call("DELETE", `${paths[kind]}?ids=${ids}`, undefined, options);

  test("both kinds are stored as sent, and listed", async () => {
    const time = wall(Date.now() + 86_400_000);
    const once = await make("device", {
      scheduleType: "0",
      crontabTime: time,
      topic: "cmd",
      payload: "öffnen",
    });
    hasKeys(once, keys);
    assert.equal(
      [once.scheduleName, once.scheduleType, once.scheduleTypeLabel, once.crontabTime, once.IntervalMinute],
      ["Every day", 0, "定时不重复", time, null],
    );
    assert.equal(
      [once.topic, once.payload, once.publishType, once.deviceIntID, once.deviceName, once.groupIntID],
      ["cmd", "öffnen", 0, device.id, device.deviceName, null],
    );
    assert.equal(
      [once.username, once.createUser, once.updateAt, once.groupName, once.IntervalHour, once.IntervalWeek],
      ["admin", "admin", null, null, null, null],
    );
    const again = await make("group", { IntervalMinute: "525600", deviceID: null });
    assert.equal(
      [again.scheduleType, again.scheduleTypeLabel, again.crontabTime, again.IntervalMinute, again.topic],
      [1, "定时重复", null, 525_600, "inbox"],
    );
    assert.equal(
      [again.publishType, again.deviceIntID, again.groupIntID, again.groupName],
      [1, null, group.id, group.groupName],
    );
    const cron = await make("device", { IntervalMinute: null, crontab: "30 6 * * mon-fri" });
    assert.equal([cron.IntervalMinute, cron.crontabTime, cron.crontab], [null, null, "30 6 * * mon-fri"]);
    assert.equal([once.crontab, again.crontab], [null, null]);
    const unasked = await make("group", { needAck: 0 });
    assert.is(unasked.topic, `/groups/${group.groupID}/inbox`);

    const idsOf = (items: readonly Rec[]) => items.map(({ id }) => id);
    assert.equal(idsOf(await list(`devices/${device.id}/schedule_publish`)), [cron.id, once.id]);
    assert.equal(idsOf(await list(`groups/${group.groupID}/schedule_publish`)), [unasked.id, again.id]);
    assert.equal(idsOf(await list("schedule_publish", "publishType=1&IntervalMinute=525600")), [again.id]);
    assert.equal(idsOf(await list("schedule_publish", "scheduleName_like=EVERY&topic=cmd")), [once.id]);
    assert.equal(idsOf(await list("schedule_publish", `deviceName=${device.deviceName}&_limit=1`)), [
      cron.id,
    ]);
  });

  test("the time of a one-off has the forms of every other time", async () => {
    for (const crontabTime of [
      "2099-01-01T08:00:00+08:00",
      "20990101T000000Z",
      "4070908800000",
      "4070908800",
    ]) {
      const made = await make("device", { scheduleType: 0, IntervalMinute: null, crontabTime });
      assert.is(made.crontabTime, "2099-01-01 08:00:00", `${crontabTime} in Shanghai`);
    }
  });

  test("what a schedule needs is asked for by name", async () => {
    for (const kind of ["device", "group"] as const) {
      const wrong = async (body: object, field: string) =>
        refused(await post(kind, body), "PARAMETER_INVALID", field);
      await wrong({ scheduleType: 0 }, "crontabTime");
      for (const time of ["2020-01-01 00:00:00", "2020-13-01 00:00:00", "tomorrow", "", 1, "20990101"]) {
        await wrong({ scheduleType: 0, crontabTime: time }, "crontabTime");
      }
      for (const value of [0, -1, 1.5, 525_601, "x", "", {}])
        await wrong({ IntervalMinute: value }, "IntervalMinute");
      await wrong({ IntervalMinute: null }, "IntervalMinute");
      for (const crontab of ["", "* * * *", "61 * * * *", "0 0 30 2 *", "x".repeat(300)]) {
        await wrong({ IntervalMinute: null, crontab }, "crontab");
      }
      await wrong({ crontab: "* * * * *" }, "crontab");
      for (const type of [2, 3, -1, null, undefined, "x"])
        await wrong({ scheduleType: type }, "scheduleType");
      for (const name of ["", " ", null, undefined, "x".repeat(256)])
        await wrong({ scheduleName: name }, "scheduleName");
      for (const payload of ["", null, undefined, 1, "x".repeat(262_145)])
        await wrong({ payload }, "payload");
      for (const topic of ["", "a/+", "#"]) await wrong({ topic }, "topic");
    }
    refused(await post("device", { deviceID: null }), "PARAMETER_INVALID", "deviceID");
    refused(await post("group", { groupID: null }), "PARAMETER_INVALID", "groupID");
    refused(await post("device", { deviceIntID: 999_999 }), "DATA_NOT_FOUND");
    refused(await post("group", { groupID: "nobody" }), "DATA_NOT_FOUND");
    refused(await post("group", { needAck: 2 }), "PARAMETER_INVALID", "needAck");
    for (const field of [
      "scheduleName",
      "scheduleType",
      "crontabTime",
      "IntervalMinute",
      "crontab",
      "deviceIntID",
    ]) {
      for (const value of badValues) {
        const { status, text } = await post("device", { [field]: value });
        assert.ok([201, 400, 404].includes(status), `${field}: ${status} ${text.slice(0, 200)}`);
      }
    }
  });

  test("each path deletes its own kind only, all or nothing", async () => {
    const [ofDevice, ofGroup] = [await make("device"), await make("group")];
    refused(await remove("device", `${ofDevice.id},${ofGroup.id}`), "DATA_NOT_FOUND");
    refused(await remove("group", `${ofDevice.id}`), "DATA_NOT_FOUND");
    for (const id of unknownIDs) refused(await remove("device", id), "DATA_NOT_FOUND");
    for (const ids of ["", ","]) refused(await remove("group", ids), "PARAMETER_INVALID", "ids");
    for (const [kind, { id }] of [
      ["device", ofDevice],
      ["group", ofGroup],
    ] as const) {
      const gone = await remove(kind, `${id},${id}`);
      assert.equal([gone.status, gone.text], [204, ""]);
      refused(await remove(kind, `${id}`), "DATA_NOT_FOUND");
    }
  });

  test("a schedule goes with its device or group", async () => {
    const product = await makeProduct(world);
    const [gateway, ownGroup] = [await makeGateway(world, product), await makeGroup(world, product)];
    await make("device", { deviceID: gateway.deviceID });
    await make("group", { groupID: null, groupIntID: ownGroup.id });
    assert.is((await list(`devices/${gateway.id}/schedule_publish`)).length, 1);
    const before = (await list("schedule_publish", "_limit=1000")).length;
    assert.is((await world.call("DELETE", `/api/v1/gateways?ids=${gateway.id}`)).status, 204);
    assert.is((await world.call("DELETE", `/api/v1/groups?ids=${ownGroup.id}`)).status, 204);
    assert.is((await list("schedule_publish", "_limit=1000")).length, before - 2);
  });

  test("who may: viewers read, operators command, another tenant sees nothing", async () => {
    const { id } = await make("device");
    const [viewer, operator, foreign] = [
      await world.keyOf("viewer"),
      await world.keyOf("operator"),
      await world.otherTenant(),
    ];
    refused(await post("device", {}, { key: viewer }), "PERMISSION_DENIED");
    refused(await post("device", {}, { key: null }), "AUTH_FAILED");
    refused(await post("device", {}, { key: foreign }), "DATA_NOT_FOUND");
    refused(await remove("device", `${id}`, { key: viewer }), "PERMISSION_DENIED");
    refused(await remove("device", `${id}`, { key: foreign }), "DATA_NOT_FOUND");
    const read = (key: string) => world.call("GET", "/api/v1/schedule_publish", undefined, { key });
    assert.equal([(await read(viewer)).status, (await read(foreign)).page.meta.count], [200, 0]);
    for (const path of [`devices/${device.id}/schedule_publish`, `groups/${group.id}/schedule_publish`]) {
      refused(await world.call("GET", `/api/v1/${path}`, undefined, { key: foreign }), "DATA_NOT_FOUND");
    }
    assert.is((await post("device", {}, { key: operator })).status, 201);
    assert.is((await remove("device", `${id}`, { key: operator })).status, 204);
  });
};

worldSuite("schedules", define, { TIMEZONE: "Asia/Shanghai" });

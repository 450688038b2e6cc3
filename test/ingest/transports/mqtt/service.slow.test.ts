/** The MQTT endpoint over real sockets: who may in, what closes a connection, spaces, and payloads that hurt. */
import mqttPacket from "mqtt-packet";
import { makeDataPoint, makeDevice, makeGateway, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import {
  connectPacket,
  endedBy,
  eventsOf,
  publishPacket,
  type RawClient,
  rawClient,
  rawConnected,
  refusedBy,
  valuesOf,
} from "../../support.js";

worldSuite("MQTT, the endpoint", (test, world) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    for (const [dataPointID, pointDataType] of [
      ["temp", 1],
      ["label", 3],
    ] as const) {
      await makeDataPoint(world, product, { dataPointID, pointDataType });
    }
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });

  const connected = (fields?: Parameters<typeof rawConnected>[2]) => rawConnected(world.mqtt, device, fields);
  const refusals: readonly (readonly [
    string,
    (device: Rec) => Parameters<typeof connectPacket>[1],
    number,
  ])[] = [
    ["a wrong token", () => ({ password: "wrong" }), 4],
    ["no token", () => ({ password: "" }), 4],
    ["an unknown user", () => ({ username: "nobody" }), 4],
    ["a client id that is too long", () => ({ clientId: "x".repeat(257) }), 2],
  ];
  for (const [name, fields, code] of refusals) {
    test(`CONNECT with ${name} is refused with ${code}`, async () => {
      const raw = await rawClient(world.mqtt);
      raw.send(connectPacket(device, fields(device)));
      assert.is((await raw.next("connack")).returnCode, code);
      await raw.ended();
    });
  }

  test("CONNECT with an empty client id in a kept session is refused with 2", async () => {
    const raw = await rawClient(world.mqtt);
    const bytes = mqttPacket.generate(connectPacket(device, { clientId: "" }));
    const flagsAt = 9;
    bytes[flagsAt] = (bytes[flagsAt] as number) & ~0x02;
    raw.send(bytes);
    assert.is((await raw.next("connack")).returnCode, 2);
    await raw.ended();
  });

  test("an empty client id in a clean session is given one", async () => {
    const both = [await connected({ clientId: "" }), await connected({ clientId: "" })];
    for (const one of both) one.send({ cmd: "pingreq" });
    for (const one of both) await one.next("pingresp");
    for (const one of both) await one.cut();
  });

  test("a blocked device, and one that authenticates by certificate, is refused", async () => {
    const blocked = await makeDevice(world, product, { blocked: 1 });
    const certified = await makeDevice(world, product, { authType: 2 });
    for (const [one, code] of [
      [blocked, 5],
      [certified, 4],
    ] as const) {
      const raw = await rawClient(world.mqtt);
      raw.send(connectPacket(one));
      assert.is((await raw.next("connack")).returnCode, code);
      await raw.ended();
    }
  });

  test("versions that are not served get a refusal in their own format", async () => {
    for (const [level, answer] of [
      [2, "20020001"],
      [0x84, "20020001"],
      [6, "20030084"],
    ] as const) {
      const raw = await rawClient(world.mqtt);
      const got: Buffer[] = [];
      raw.socket.on("data", (chunk) => got.push(chunk));
      const bytes = mqttPacket.generate(connectPacket(device));
      bytes[8] = level;
      raw.send(bytes);
      await raw.ended();
      assert.ok(Buffer.concat(got).toString("hex").startsWith(answer.slice(0, 2)));
      assert.is(Buffer.concat(got)[3], Number.parseInt(answer.slice(-2), 16));
    }
  });

  const violations: readonly (readonly [string, string])[] = [
    ["a PUBLISH before CONNECT", "300600046461746131"],
    ["a reserved packet type", "0000"],
    ["another protocol", Buffer.from("GET / HTTP/1.1\r\n\r\n").toString("hex")],
    ["a length of five bytes", "30ffffffff7f"],
  ];
  for (const [name, bytes] of violations) {
    test(`${name} closes the connection`, async () => {
      const raw = await rawClient(world.mqtt);
      raw.send(Buffer.from(bytes, "hex"));
      await raw.ended();
      assert.equal(raw.packets, []);
    });
  }

  test("a second CONNECT, U+0000 and wildcards in a topic close the connection", async () => {
    const nul = Buffer.from("3207000361006200013f", "hex");
    for (const bytes of [
      connectPacket(device),
      nul,
      publishPacket("1", { topic: "a/+" }),
      publishPacket("1", { topic: "#" }),
    ]) {
      const raw = await connected();
      raw.send(bytes);
      await raw.ended();
      assert.equal(
        raw.packets.map(({ cmd }) => cmd),
        ["connack"],
      );
    }
    const raw = await connected();
    raw.send({ cmd: "subscribe", messageId: 1, subscriptions: [{ topic: "a\0b", qos: 0 }] });
    await raw.ended();
  });

  test("16 KiB bound what comes before CONNACK; 256 MB are refused when declared, before and after", async () => {
    const huge = Buffer.from("30ffffff7f", "hex");
    const ended = endedBy(world, "oversize");
    const before = await ended();
    const rss = process.memoryUsage.rss();
    const long = await rawClient(world.mqtt);
    long.send(connectPacket(device, { username: "u".repeat(17_000) }));
    await long.ended();
    const first = await rawClient(world.mqtt);
    first.send(Buffer.from("10ffffff7f", "hex"));
    await first.ended(1000);
    const filling = Buffer.alloc(1024 * 1024);
    for (let i = 0; i < 20; i++) {
      const open = await connected({ clientId: `huge-${i % 4}` });
      open.send(huge);
      for (let part = 0; part < 8 && !open.closed; part++) open.send(filling);
      await open.ended(2000);
    }
    assert.is((await ended()) - before, 22);
    const grown = process.memoryUsage.rss() - rss;
    assert.ok(grown < 250e6, `${Math.round(grown / 1e6)} MB more`);
  });

  test("256 KiB of payload are kept, one byte more closes with nothing acknowledged", async () => {
    const raw = await connected();
    raw.send(publishPacket(Buffer.alloc(256 * 1024, 0x20)));
    await raw.next("puback");
    raw.send(publishPacket(Buffer.alloc(256 * 1024 + 1, 0x20), { messageId: 2 }));
    await raw.ended();
    const again = await connected();
    again.send(publishPacket(Buffer.alloc(300 * 1024, 0x20), { messageId: 3 }));
    await again.ended();
    assert.equal(
      again.packets.map(({ cmd }) => cmd),
      ["connack"],
    );
    assert.equal(
      (await eventsOf(world, device)).map(({ payload }) => String(payload).length),
      [256 * 1024],
    );
  });

  test("silence ends a connection after one and a half keep-alives, and a socket without CONNECT after 10 s", async () => {
    const mute = await rawClient(world.mqtt);
    const silent = await connected({ clientId: "silent", keepalive: 1 });
    const alive = await connected({ clientId: "alive", keepalive: 1 });
    const unbounded = await connected({ clientId: "unbounded", keepalive: 0 });
    const pinging = setInterval(() => alive.send({ cmd: "pingreq" }), 500);
    try {
      await silent.ended(4000);
      await mute.ended(13_000);
      assert.not.ok(alive.closed || unbounded.closed);
    } finally {
      clearInterval(pinging);
    }
    for (const one of [alive, unbounded]) await one.cut();
  });

  test("no client is silent because the service stood still", async () => {
    const open = await connected({ clientId: "patient", keepalive: 1 });
    const pinging = setInterval(() => open.send({ cmd: "pingreq" }), 500);
    try {
      for (let i = 0; i < 3; i++) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
        const answered = open.packets.length;
        await until(() => open.closed || open.packets.length > answered + 2, { what: "pings answered" });
        assert.not.ok(open.closed);
      }
    } finally {
      clearInterval(pinging);
    }
    await open.cut();
  });

  test("the same client id takes over; the ninth session of a device is refused", async () => {
    const first = await connected({ clientId: "c0" });
    const second = await connected({ clientId: "c0" });
    await first.ended();
    assert.not.ok(second.closed);
    const others: RawClient[] = [];
    for (let i = 1; i < 8; i++) others.push(await connected({ clientId: `c${i}` }));
    const ninth = await rawClient(world.mqtt);
    ninth.send(connectPacket(device, { clientId: "c8" }));
    assert.is((await ninth.next("connack")).returnCode, 3);
    await ninth.ended();
    await others[0]?.cut();
    const roomAgain = async (): Promise<boolean> => {
      await (await connected({ clientId: "c9" })).cut();
      return true;
    };
    await until(roomAgain, { what: "a place for another session" });
    for (const one of [second, ...others.slice(1)]) await one.cut();
  });

  test("each device has its own space: no filter reaches another's", async () => {
    const other = await makeDevice(world, product);
    const spy = await rawConnected(world.mqtt, other);
    const filters = ["#", "+/+", "+", "$SYS/#", `${device.deviceID}/#`, "data", "$share/g/data"];
    spy.send({
      cmd: "subscribe",
      messageId: 1,
      subscriptions: filters.map((topic) => ({ topic, qos: 2 as const })),
    });
    assert.equal((await spy.next("suback")).granted, [2, 2, 2, 2, 2, 2, 0x80]);
    const raw = await connected();
    for (const [i, topic] of ["data", "a/b", "$SYS/x", `${other.deviceID}/data`].entries()) {
      raw.send(publishPacket("{}", { topic, messageId: i + 1 }));
    }
    await raw.many("puback", 4);
    spy.send({ cmd: "pingreq" });
    await spy.next("pingresp");
    spy.send(publishPacket("own"));
    await spy.next("publish");
    assert.is(spy.packets.filter(({ cmd }) => cmd === "publish").length, 1);
    await raw.cut();
    await spy.cut();
  });

  test("a device is online while it has a connection", async () => {
    const status = async () => (await world.call("GET", `/api/v1/devices/${device.id}`)).record.deviceStatus;
    assert.is(await status(), 0);
    const [one, two] = [await connected({ clientId: "one" }), await connected({ clientId: "two" })];
    await until(async () => (await status()) === 1, { what: "online" });
    await one.cut();
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.is(await status(), 1);
    two.send({ cmd: "disconnect" });
    await until(async () => (await status()) === 0, { what: "offline" });
  });

  test("a device that is blocked, deleted or given another user name or token is thrown out", async () => {
    const changes: readonly ((id: number) => Promise<{ status: number }>)[] = [
      (id) => world.call("PUT", `/api/v1/devices/${id}`, { blocked: 1 }),
      (id) => world.call("PUT", `/api/v1/devices/${id}`, { token: "another-token-for-it" }),
      (id) => world.call("PUT", `/api/v1/devices/${id}`, { deviceUsername: `another-${id}` }),
      (id) => world.call("DELETE", `/api/v1/devices?ids=${id}`),
    ];
    for (const change of changes) {
      const one = await makeDevice(world, product);
      const raw = await rawConnected(world.mqtt, one);
      const { status } = await change(one.id);
      assert.ok(status < 300, `${status}`);
      await raw.ended();
      const again = await rawClient(world.mqtt);
      again.send(connectPacket(one));
      assert.ok([4, 5].includes((await again.next("connack")).returnCode ?? 0));
    }
  });

  test("a reader after CONNACK sees the device online, in every view, and offline after its end is on record", async () => {
    const gateway = await makeGateway(world, product);
    for (const [path, one] of [
      ["devices", await makeDevice(world, product)],
      ["gateways", gateway],
    ] as const) {
      const b = { headers: { "Api-Variant": "B" } };
      const views: Record<string, () => Promise<unknown>> = {
        detail: async () => (await world.call("GET", `/api/v1/${path}/${one.id}`)).record.deviceStatus,
        "detail of B": async () =>
          (await world.call("GET", `/api/v1/devices/${one.id}`, undefined, b)).record.status,
        list: async () => {
          const { page } = await world.call("GET", `/api/v1/${path}?deviceID=${one.deviceID}`);
          return page.items[0]?.deviceStatus;
        },
        "filtered list": async () => {
          const query = `deviceID=${one.deviceID}&deviceStatus=1`;
          return (await world.call("GET", `/api/v1/${path}?${query}`)).page.meta.count;
        },
        "answer of an edit": async () =>
          (await world.call("PUT", `/api/v1/${path}/${one.id}`, {})).record.deviceStatus,
      };
      for (const [view, status] of Object.entries(views)) {
        for (let i = 0; i < 10; i++) {
          const raw = await rawConnected(world.mqtt, one);
          assert.is(await status(), 1, `${path}, ${view}`);
          raw.send({ cmd: "disconnect" });
          await raw.ended();
        }
      }
    }
  });

  test("a device may publish before its product has data points; what comes after them is stored", async () => {
    const bare = await makeProduct(world);
    const one = await makeDevice(world, bare);
    const raw = await rawConnected(world.mqtt, one);
    const refusals = refusedBy(world, "unknown");
    const before = await refusals();
    raw.send(publishPacket('{"early": 1}'));
    await raw.next("puback");
    await world.settled();
    assert.is((await refusals()) - before, 1);
    await makeDataPoint(world, bare, { dataPointID: "early" });
    raw.send(publishPacket('{"early": 2}', { messageId: 2 }));
    await raw.next("puback");
    await world.settled();
    assert.is((await eventsOf(world, one)).length, 2);
    assert.equal(await valuesOf(world, one), [[2]]);
    await raw.cut();
  });

  test("text that no database likes comes back as it may be stored", async () => {
    const texts = ['"\\ud800"', '"a\\u0000b"', '"😀"', '"\\ufffe"', `"${"é".repeat(1000)}"`];
    const raw = await connected();
    const time = Math.floor(Date.now() / 1000) - 100;
    for (const [i, text] of texts.entries()) {
      raw.send(publishPacket(`{"label":${text},"time":${time + i}}`, { messageId: i + 1 }));
    }
    await raw.many("puback", texts.length);
    await world.settled();
    const [labels = []] = (await valuesOf(world, device)).filter((values) => values.length > 0);
    const stored = texts.map((text) => (JSON.parse(text) as string).toWellFormed());
    assert.equal(
      labels.map((text) => String(text).replaceAll("\0", "")),
      stored.map((text) => text.replaceAll("\0", "")),
    );
    await raw.cut();
  });

  test("every one- and two-byte payload is an event, byte for byte", async () => {
    const raw = await connected();
    const payloads: Buffer[] = [];
    for (let first = 0; first < 256; first++) {
      payloads.push(Buffer.from([first]));
      for (let other = 0; other < 256; other++) payloads.push(Buffer.from([first, other]));
    }
    for (let at = 0; at < payloads.length; at += 5000) {
      const some = payloads.slice(at, at + 5000);
      raw.send(...some.map((payload, i) => publishPacket(payload, { messageId: i + 1 })));
      await raw.many("puback", at + some.length);
    }
    await world.settled();
    const found: string[] = [];
    for (let page = 1; page <= 66; page++) {
      const { items } = (
        await world.call("GET", `/api/v1/devices/${device.id}/events?_page=${page}&_limit=1000`)
      ).page;
      for (const { payload } of items) {
        const text = String(payload);
        const bytes = text.startsWith("base64:") ? Buffer.from(text.slice(7), "base64") : Buffer.from(text);
        found.push(bytes.toString("hex"));
      }
    }
    assert.equal(
      found.reverse(),
      payloads.map((payload) => payload.toString("hex")),
    );
    await raw.cut();
  });
});

/** The memory that all answers hold together: clients that do not read leave the others their share. */
import { connect, type Socket } from "node:net";
import { ApiError } from "../../src/http/errors.js";
import { createResponseBudget, heldBody, smallAnswerBytes } from "../../src/http/response-budget.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert, rejects, suite, until } from "../suite.js";
import { worldSuite } from "../world.js";

const MiB = 2 ** 20;
const never = () => new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

suite("memory for answers", (test) => {
  test("one tenant leaves a part to others, small answers are counted and never wait, all comes back", async () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const room = createResponseBudget(128 * MiB, meter, 20);
    const holds = [];
    let refused = 0;
    for (let i = 0; i < 30; i++) {
      const hold = room.open(1, never);
      holds.push(hold);
      await hold.take(8 * MiB).catch((error: unknown) => {
        assert.is(error instanceof ApiError && error.errorCode, "TOO_MANY_REQUESTS");
        assert.is(error instanceof ApiError && error.headers["Retry-After"], "5");
        refused++;
      });
    }
    assert.equal([refused, meter.answersRefused, meter.answerBytes], [16, 16, 112 * MiB]);
    const small = room.open(1, never);
    await small.take(smallAnswerBytes);
    assert.is(small.bytes, smallAnswerBytes, "a small one is made, and counted");
    const other = room.open(2, never);
    await other.take(8 * MiB);
    assert.is(meter.answerBytes, 120 * MiB + smallAnswerBytes);
    for (const hold of [...holds, small, other]) hold.end();
    assert.is(meter.answerBytes, 0);
  });

  test("a waiting caller is admitted when there is capacity, and forgotten when it has left", async () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const room = createResponseBudget(128 * MiB, meter, 60_000);
    const first = room.open(1, never);
    await first.take(108 * MiB);
    const leaver = new AbortController();
    const left = room.open(1, () => leaver.signal);
    const leaving = rejects(() => left.take(12 * MiB), /nobody waits/);
    const second = room.open(1, never);
    let taken = false;
    const waiting = second.take(10 * MiB).then(() => {
      taken = true;
    });
    const third = room.open(1, never);
    await rejects(() => third.take(20 * MiB), /not read/);
    await turn();
    assert.not(taken, "in order after the one that leaves");
    leaver.abort();
    await leaving;
    await turn();
    assert.not(taken, "still too much");
    first.give(20 * MiB);
    await waiting;
    assert.is(meter.answerBytes, 98 * MiB);
    for (const hold of [first, left, second, third]) hold.end();
    assert.equal([meter.answerBytes, meter.answersRefused], [0, 1]);
  });

  test("bytes come back as they are read, at the end, at an error and when nobody reads on", async () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const room = createResponseBudget(128 * MiB, meter);
    const bodyOf = (chunks: number, fails = false) => {
      let left = chunks;
      return new ReadableStream<Uint8Array>(
        {
          pull: (controller) => {
            if (left-- > 0) controller.enqueue(new Uint8Array(MiB));
            else if (fails) controller.error(new Error("lost"));
            else controller.close();
          },
        },
        { highWaterMark: 0 },
      );
    };
    const open = async (fails: boolean, byAndBy: boolean) => {
      const hold = room.open(1, never);
      await hold.take(4 * MiB);
      return heldBody(bodyOf(4, fails), hold, byAndBy).getReader();
    };
    const slow = await open(false, true);
    await slow.read();
    assert.is(meter.answerBytes, 3 * MiB);
    await slow.cancel();
    assert.is(meter.answerBytes, 0, "left");
    const whole = await open(false, false);
    for (let i = 0; i < 4; i++) await whole.read();
    assert.is(meter.answerBytes, 4 * MiB, "held to the end");
    assert.ok((await whole.read()).done);
    assert.is(meter.answerBytes, 0, "read");
    const broken = await open(true, false);
    for (let i = 0; i < 4; i++) await broken.read();
    await rejects(() => broken.read(), /lost/);
    assert.is(meter.answerBytes, 0, "broken off");
  });

  test("answers are made some at a time; a tenant that has all its turns leaves one to others", async () => {
    const room = createResponseBudget(128 * MiB, { answerBytes: 0, answersRefused: 0 });
    const ends: (() => void)[] = [];
    let made = 0;
    const begin = (tenant: number) =>
      room.open(tenant, never).make("rows", () => {
        made++;
        return new Promise<void>((end) => ends.push(end));
      });
    const all = Array.from({ length: 50 }, () => begin(1));
    await turn();
    assert.is(made, 14);
    all.push(begin(2));
    await turn();
    assert.is(made, 15, "another tenant's at once");
    await room.open(1, never).make("series", () => undefined);
    while (ends.length > 0) {
      ends.shift()?.();
      await turn();
    }
    await Promise.all(all);
    assert.is(made, 51);
  });

  test("while an answer waits for capacity others are made; one under way does not wait for those that hold nothing", async () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const room = createResponseBudget(128 * MiB, meter, 60_000);
    const unread = room.open(1, never);
    await unread.take(100 * MiB);
    const underWay = room.open(1, never);
    await underWay.take(MiB);
    const waiting = Array.from({ length: 14 }, () => room.open(1, never));
    const made = waiting.map((hold, i) => hold.make("series", () => hold.take(i === 0 ? 12 * MiB : MiB)));
    await turn();
    await room.open(1, never).make("series", () => undefined);
    await underWay.take(MiB);
    assert.is(meter.answerBytes, 102 * MiB);
    unread.end();
    await Promise.all(made);
    assert.is(meter.answerBytes, 27 * MiB);
    for (const hold of [underWay, ...waiting]) hold.end();
    assert.is(meter.answerBytes, 0);
  });

  test("an answer to a device has its room at once or not at all", () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const room = createResponseBudget(128 * MiB, meter);
    const small = room.takeNow(1, smallAnswerBytes);
    assert.is(meter.answerBytes, smallAnswerBytes);
    small?.();
    const release = room.takeNow(1, 100 * MiB);
    assert.is(meter.answerBytes, 100 * MiB);
    assert.is(room.takeNow(1, 20 * MiB), null);
    assert.is(meter.answersRefused, 1);
    release?.();
    release?.();
    assert.is(meter.answerBytes, 0);
  });

  test("an answer about written messages is sent without capacity, and counted", async () => {
    const meter = { answerBytes: 0, answersRefused: 0 };
    const room = createResponseBudget(128 * MiB, meter, 1);
    const unread = room.open(1, never);
    await unread.take(112 * MiB);
    const written = room.open(1, never);
    written.force(smallAnswerBytes);
    assert.is(written.bytes, smallAnswerBytes);
    written.force(MiB);
    assert.equal([written.bytes, meter.answersRefused], [MiB + smallAnswerBytes, 0]);
    for (const hold of [unread, written]) hold.end();
    assert.is(meter.answerBytes, 0);
  });
});

worldSuite(
  "pages that nobody reads",
  (test, world) => {
    test("leave another's list answered at once, and all they hold is given back", async () => {
      const product = await makeProduct(world);
      await makeDataPoint(world, product, { dataPointID: "temp" });
      const device = await makeDevice(world, product);
      const text = "x".repeat(200_000);
      await world.publish(
        device,
        ...Array.from({ length: 45 }, (_, n) => JSON.stringify({ note: `${n} ${text}` })),
      );
      const { hostname, port } = new URL(world.http);
      const token = Buffer.from(world.first.apiKey).toString("base64");
      const sockets: Socket[] = [];
      const heads: string[] = [];
      for (let i = 0; i < 24; i++) {
        const socket = connect({ port: Number(port), host: hostname });
        // The head, and no more.
        socket.once("data", (bytes) => {
          heads[i] = bytes.toString("latin1").slice(0, 12);
          socket.pause();
        });
        socket.on("error", () => undefined);
        socket.write(
          `GET /api/v1/devices/${device.id}/events?_limit=1000 HTTP/1.1\r\nHost: t\r\nAuthorization: Basic ${token}\r\n\r\n`,
        );
        sockets.push(socket);
      }
      const metric = async (name: string): Promise<number> => {
        const { text: all } = await world.call("GET", "/metrics");
        return Number(new RegExp(`^${name} (.*)$`, "m").exec(all)?.[1]);
      };
      await until(() => heads.filter(Boolean).length === sockets.length, {
        what: "every request is answered",
        timeoutMs: 60_000,
      });
      const held = await metric("tidemark_answer_bytes");
      assert.ok(held > 8 * MiB && held <= 84 * MiB, `${held} bytes held`);
      const refused = heads.filter((head) => head === "HTTP/1.1 429").length;
      assert.is(await metric("tidemark_answers_refused_total"), refused);
      assert.is(heads.filter((head) => head === "HTTP/1.1 200").length, sockets.length - refused);
      const key = await world.otherTenant();
      assert.is((await world.call("GET", "/api/v1/devices", undefined, { key })).status, 200);
      assert.is((await world.call("GET", "/api/v1/devices")).status, 200, "one's own small lists, too");
      assert.ok((await metric("tidemark_answer_bytes")) > 8 * MiB, "while the others still hold theirs");
      for (const socket of sockets) socket.destroy();
      await until(async () => (await metric("tidemark_answer_bytes")) === 0, { what: "all is given back" });
      const page = await world.call("GET", `/api/v1/devices/${device.id}/events?_limit=1000`);
      assert.equal([page.status, page.headers.get("truncated")], [200, "true"]);
      assert.is(await metric("tidemark_answer_bytes"), 0);
    });
  },
  { ANSWER_BYTES_MAX: String(96 * MiB) },
);

/** What windows want, as requests to the service, and how its answers are read. */
import fc from "fast-check";
import { createReader } from "../../src/console/app/live/events.js";
import { bring, formatStreamPath, planStreams } from "../../src/console/app/live/plan-streams.js";
import type { Topic, Want } from "../../src/console/app/live/protocol.js";
import { openStream } from "../../src/console/app/live/stream.js";
import { assert, suite, until } from "../suite.js";

const topics: readonly Topic[] = ["points", "messages", "presence", "alerts", "commands", "overview"];
const ids = (count: number) => Array.from({ length: count }, (_, i) => `d${String(i).padStart(3, "0")}`);

suite("console: questions of live streams", (test) => {
  test("two pages of devices and an overview are one question", () => {
    const questions = planStreams([
      { topics: ["points"], devices: ["b", "a"] },
      { topics: ["points", "presence"], devices: ["b"] },
      { topics: ["overview"], devices: null },
    ]);
    assert.equal(questions.map(formatStreamPath), [
      "/api/v1/live?topics=points,presence,overview&deviceID=a,b",
    ]);
  });

  test("events of all devices are requested once, and no wants at all make one request too", () => {
    const wide: Want = { topics: ["alerts", "points"], devices: null };
    assert.equal(
      planStreams([wide, { topics: ["alerts", "points"], devices: ["a"] }]).map(formatStreamPath),
      ["/api/v1/live?topics=points&deviceID=a", "/api/v1/live?topics=alerts"],
    );
    assert.equal(planStreams([]).length, 1);
  });

  test("a question has 100 devices and a short address at most", () => {
    assert.equal(
      planStreams([{ topics: ["points"], devices: ids(250) }]).map(({ devices }) => devices?.length),
      [100, 100, 50],
    );
    const long = Array.from({ length: 60 }, (_, i) => `${i}${"设".repeat(250)}`);
    const questions = planStreams([{ topics: ["points"], devices: long }]);
    assert.ok(questions.every((one) => formatStreamPath(one).length < 8000));
    assert.equal(questions.flatMap(({ devices }) => devices ?? []).sort(), [...long].sort());
  });

  test("the questions bring whatever is wanted", () => {
    const want = fc.record({
      topics: fc.uniqueArray(fc.constantFrom(...topics), { minLength: 1 }),
      devices: fc.option(fc.uniqueArray(fc.constantFrom(...ids(130)), { minLength: 1, maxLength: 40 })),
    });
    fc.assert(
      fc.property(fc.array(want, { maxLength: 8 }), (wants) => {
        const questions = planStreams(wants);
        for (const one of wants) {
          // Points of all devices cannot be had.
          const some = one.topics.filter((topic) => topic !== "points" || one.devices !== null);
          assert.ok(bring(questions, { ...one, topics: some }), JSON.stringify({ one, questions }));
        }
        assert.is(bring(questions, { topics: ["points"], devices: ["unknown"] }), false);
      }),
    );
  });
});

suite("console: events of live streams", (test) => {
  const text =
    'retry: 2000\n\nid: r.1\nevent: hello\ndata: {"id":"r.1"}\n\n: still here\nid: r.2\n\nevent: message\ndata: {"a":"1: 2"}\n\nid: r.3\n\n';

  test("they are the same however the text is cut", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: text.length })), (cuts) => {
        const reader = createReader("");
        const places = [0, ...cuts.sort((a, b) => a - b), text.length];
        const events = places.flatMap((end, i) => reader.take(text.slice(places[i - 1] ?? 0, end)));
        assert.equal(events, [
          { name: "hello", data: '{"id":"r.1"}' },
          { name: "message", data: '{"a":"1: 2"}' },
        ]);
        assert.is(reader.lastID, "r.3");
      }),
    );
  });

  test("an event that is not complete leaves the id as it was", () => {
    const reader = createReader("r.0");
    assert.equal(reader.take("id: r.1\ndata: 1\n"), []);
    assert.is(reader.lastID, "r.0");
    assert.equal(reader.take("\n"), [{ name: "message", data: "1" }]);
    assert.is(reader.lastID, "r.1");
  });
});

suite("console: a live stream that breaks off", (test) => {
  const [fetchOf, nowOf] = [globalThis.fetch, Date.now];
  test.after.each(() => {
    globalThis.fetch = fetchOf;
    Date.now = nowOf;
  });

  test("it goes on where it was; events that were missed for long are a gap, not late events", async () => {
    let passedMs = 0;
    Date.now = () => nowOf() + passedMs;
    const asked: (string | null)[] = [];
    globalThis.fetch = async (_, init) => {
      asked.push(new Headers(init?.headers).get("last-event-id"));
      return new Response(`id: r.${asked.length}\nevent: hello\ndata: {}\n\n`);
    };
    const events: string[] = [];
    const stream = openStream("/live", {
      event: (name) => events.push(`${name} ${asked.length}`),
      connected: () => undefined,
      lost: () => undefined,
    });
    await until(() => asked.length === 2, { what: "the second question" });
    assert.equal([asked, events], [[null, "r.1"], []]);
    passedMs = 3_600_000;
    await until(() => asked.length === 4, { what: "the fourth question" });
    stream.close();
    assert.equal([asked, events], [[null, "r.1", null, "r.3"], ["gap 3"]]);
  });
});

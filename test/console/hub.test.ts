/** The holder of streams, with streams and a clock of the test's own. */
import { createHub } from "../../src/console/app/live/hub.js";
import type { Topic, ToWindow, Want } from "../../src/console/app/live/protocol.js";
import { createRecent } from "../../src/console/app/live/recent.js";
import type { Loss, openStream } from "../../src/console/app/live/stream.js";
import { assert, suite } from "../suite.js";

type Told = Parameters<typeof openStream>[1];
interface Opened {
  readonly path: string;
  readonly told: Told;
  isOpen: boolean;
}

function createStage(streamsMax = 2) {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly act: () => void }>();
  const opened: Opened[] = [];
  const goneDevices = new Set<string>();
  const asked = { now: 0, atOnce: 0 };
  const hub = createHub(streamsMax, {
    open: (path, told) => {
      const one = { path, told, isOpen: true };
      opened.push(one);
      return {
        close: () => {
          one.isOpen = false;
        },
      };
    },
    isThere: async (device) => {
      asked.atOnce = Math.max(asked.atOnce, ++asked.now);
      await null;
      asked.now--;
      return !goneDevices.has(device);
    },
    now: () => now,
    after: (ms, act) => {
      const timer = { at: now + ms, act };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  const open = () => opened.filter((one) => one.isOpen);
  return {
    hub,
    opened,
    open,
    goneDevices,
    asked,
    pass: (ms: number) => {
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next);
        now = next.at;
        next.act();
      }
      now = until;
    },
    greet: () => {
      for (const one of open()) one.told.connected();
    },
    lose: (loss: Loss, path: RegExp) => {
      for (const one of open()) if (path.test(one.path)) one.told.lost(loss);
    },
    window: () => {
      const heard: ToWindow[] = [];
      const window = { send: (message: ToWindow) => void heard.push(message) };
      return {
        heard,
        gaps: () => heard.filter(({ kind }) => kind === "gap").length,
        told: () => heard.flatMap((one) => (one.kind === "told" ? one.items : [])),
        lefts: () => heard.filter((one) => one.kind === "left").length,
        left: () => heard.flatMap((one) => (one.kind === "left" ? [one.wants] : [])).at(-1),
        wants: (devices: readonly string[], user = 1) => hub.hear(window, { user, wants: [wantOf(devices)] }),
        says: (wants: readonly Want[], user = 1) => hub.hear(window, { user, wants }),
        leaves: () => hub.hear(window, { user: null }),
      };
    },
  };
}

const wantOf = (devices: readonly string[], topics: readonly Topic[] = ["points"]): Want => ({
  topics,
  devices,
});
const ids = (count: number) => Array.from({ length: count }, (_, i) => `d${String(i).padStart(3, "0")}`);
const devicesOf = ({ path }: Opened) => /deviceID=(.*)/.exec(path)?.[1];
/** Answers that are promises come. */
const turns = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await null;
};

suite("console: holder of live streams", (test) => {
  test("a page that says first that it does not know yet who is logged in has missed nothing", () => {
    const stage = createStage();
    const window = stage.window();
    window.leaves();
    stage.pass(20);
    window.wants(["a"]);
    stage.pass(50);
    stage.greet();
    stage.pass(10_000);
    assert.is(window.gaps(), 0);
    window.leaves();
    stage.pass(60_000);
    window.wants(["a"]);
    stage.pass(50);
    stage.greet();
    stage.pass(10_000);
    assert.is(window.gaps(), 1);
  });

  test("a user who steps through devices has two streams at most, gets the device where he stops, and misses nothing", () => {
    const stage = createStage();
    const window = stage.window();
    window.wants(["first"]);
    stage.pass(50);
    stage.greet();
    for (const device of ids(20)) {
      window.wants([device]);
      stage.pass(100);
      assert.is(stage.open().length, 1, "nothing is opened in passing");
    }
    stage.pass(100);
    for (const device of ids(30)) {
      window.wants([device]);
      stage.pass(200);
      assert.ok(stage.open().length <= 2, `${stage.open().length} streams`);
      assert.is(stage.open().at(-1)?.path.endsWith(`=${device}`), true);
    }
    assert.is(devicesOf(stage.open()[0] as Opened), "d028", "the first was given up after 5 s");
    stage.greet();
    stage.pass(2000);
    assert.equal(stage.open().map(devicesOf), ["d029"]);
  });

  test("a holder that may have one stream has never two, and what that misses is a gap", () => {
    const stage = createStage(1);
    const window = stage.window();
    const wide: Want = { ...wantOf([], ["alerts"]), devices: null };
    window.says([wantOf(["a"]), wide]);
    stage.pass(50);
    stage.greet();
    assert.equal(window.left(), [wantOf(["a"])], "events of all devices go before");
    for (const device of ids(5)) {
      window.wants([device]);
      stage.pass(200);
      assert.equal(stage.open().map(devicesOf), [device]);
    }
    stage.greet();
    stage.pass(2000);
    assert.is(window.gaps(), 1);
    window.leaves();
    stage.pass(50);
    assert.is(stage.open().length, 0);
  });

  test("a stream that is cut for lack of capacity is a gap for its readers, once the new one is there", () => {
    const stage = createStage();
    const [one, other] = [stage.window(), stage.window()];
    const alerts = wantOf([], ["alerts"]);
    const wide: Want = { ...alerts, devices: null };
    one.says([wantOf(["a"]), wide]);
    stage.pass(50);
    stage.greet();
    other.says([wide]);
    one.says([wantOf(["b"]), wide]);
    stage.pass(200);
    assert.equal(stage.open().map(devicesOf), [undefined, "b"]);
    assert.is(one.gaps(), 0);
    stage.greet();
    assert.equal([one.gaps(), other.gaps()], [1, 0]);
  });

  test("an old stream is given up when the new one is refused, and after five seconds", () => {
    const stage = createStage();
    const window = stage.window();
    window.wants(["a"]);
    stage.pass(50);
    stage.greet();
    window.wants(["b"]);
    stage.pass(200);
    assert.equal(stage.open().map(devicesOf), ["a", "b"]);
    stage.lose("refused", /=b$/);
    assert.equal(stage.open().map(devicesOf), ["b"]);
    assert.equal(window.heard.at(-1), { kind: "state", state: "refused" });
    stage.greet();
    assert.is(window.gaps(), 1);

    window.wants(["c"]);
    stage.pass(4000);
    assert.equal(stage.open().map(devicesOf), ["b", "c"]);
    stage.pass(2000);
    assert.equal(stage.open().map(devicesOf), ["c"]);
  });

  test("what does not fit into two streams is left to the pages", () => {
    const stage = createStage();
    const [many, wide] = [stage.window(), stage.window()];
    const parts = [ids(100), ids(200).slice(100), ids(250).slice(200)].map((devices) => wantOf(devices));
    many.says(parts);
    stage.pass(50);
    assert.is(stage.open().length, 2);
    assert.equal(many.left(), parts, "what is not greeted yet brings nothing");
    stage.greet();
    assert.equal(many.left(), [parts[2]]);
    wide.says([{ topics: ["alerts"], devices: null }]);
    stage.pass(3000);
    stage.greet();
    stage.pass(3000);
    assert.equal(many.left(), [parts[1], parts[2]]);
    assert.equal(wide.left(), []);
    many.says([parts[2] as Want, wantOf(["a,b"])]);
    stage.pass(200);
    stage.greet();
    assert.equal(many.left(), [wantOf(["a,b"])], "an id with a comma cannot be asked for");
  });

  test("a window that says what it wants is answered, also where it has said the same before", () => {
    const stage = createStage();
    const window = stage.window();
    const wants = [wantOf(["a"])];
    window.says(wants);
    stage.pass(50);
    stage.greet();
    const before = window.lefts();
    window.says(wants);
    assert.is(window.lefts(), before + 1);
    assert.equal(window.left(), []);
  });

  test("a window that was silent for long and one that has left miss something", () => {
    const stage = createStage();
    const [frozen, other] = [stage.window(), stage.window()];
    frozen.wants(["a"]);
    other.wants(["a"]);
    stage.pass(50);
    stage.greet();
    for (let i = 0; i < 12; i++) {
      stage.pass(20_000);
      other.wants(["a"]);
    }
    frozen.wants(["a"]);
    stage.pass(300);
    assert.equal([frozen.gaps(), other.gaps()], [1, 0]);
    frozen.leaves();
    stage.pass(100);
    frozen.wants(["a"]);
    assert.is(frozen.gaps(), 2);
  });

  test("a window gets nothing of another user, and a gap when its own is back", () => {
    const stage = createStage();
    const [mine, theirs] = [stage.window(), stage.window()];
    mine.wants(["a"], 1);
    stage.pass(50);
    stage.greet();
    theirs.wants(["a"], 2);
    stage.pass(50);
    stage.greet();
    const [stream] = stage.open();
    stream?.told.event("points", [{ deviceID: "a", value: 1 }]);
    stream?.told.event("gap", {});
    assert.equal([mine.told().length, mine.gaps()], [0, 0]);
    assert.equal([theirs.told().length, theirs.gaps()], [1, 1]);
    mine.wants(["a"], 1);
    stage.pass(50);
    assert.is(stage.opened.length, 2, "a window that shows that it is there turns nothing");
    theirs.leaves();
    stage.pass(100);
    mine.wants(["a"], 1);
    stage.pass(100);
    stage.greet();
    assert.is(mine.gaps(), 1);
    stage.lose("loggedOut", /./);
    assert.equal([mine.heard.at(-1)?.kind, theirs.heard.at(-1)?.kind], ["loggedOut", "gap"]);
  });

  test("devices that are gone are found out eight at a time, and heard again a minute later", async () => {
    const stage = createStage();
    const window = stage.window();
    window.wants(ids(30));
    stage.pass(50);
    stage.goneDevices.add("d007");
    stage.lose("gone", /./);
    await turns();
    assert.is(stage.asked.atOnce, 8);
    assert.equal(stage.open().map(devicesOf), [
      ids(30)
        .filter((one) => one !== "d007")
        .join(),
    ]);
    stage.greet();
    stage.goneDevices.clear();
    stage.pass(60_000);
    assert.equal(devicesOf(stage.open().at(-1) as Opened), ids(30).join());
  });

  test("a device that is wanted anew is asked for at once", async () => {
    const stage = createStage();
    const [one, other] = [stage.window(), stage.window()];
    one.wants(["a", "b"]);
    stage.pass(50);
    stage.goneDevices.add("a");
    stage.lose("gone", /./);
    await turns();
    assert.equal(stage.open().map(devicesOf), ["b"]);
    stage.greet();
    other.wants(["a"]);
    stage.pass(200);
    assert.equal(stage.open().map(devicesOf), ["b", "a,b"]);
  });

  test("an event of two streams is passed on once, for five seconds, and the memory of events is bounded", () => {
    let now = 0;
    const recent = createRecent(() => now);
    assert.equal([recent.isNew(1), recent.isNew(1)], [true, true], "one stream sends each event once");
    recent.begin();
    assert.equal([recent.isNew(1), recent.isNew(1)], [true, false]);
    for (let i = 2; i < 6002; i++) recent.isNew(i);
    assert.is(recent.isNew(1), true, "the oldest gives way");
    assert.is(recent.isNew(6001), false);
    now = 5000;
    assert.is(recent.isNew(6001), true);
  });
});

/** Shards that are copied before they move: how many at once, how long callers wait, and how it ends. */
import { createShardsAhead } from "../../src/cluster/shards-ahead.js";
import { onAbort } from "../../store/lib/abortable.js";
import { assert, suite, until } from "../suite.js";

function openAhead() {
  const events: string[] = [];
  const lines: string[] = [];
  /** Ends the copying of a shard, with an error if there is one. */
  const ends = new Map<number, (error?: Error) => void>();
  const at = (level: string) => (line: string) => void lines.push(`${level}: ${line}`);
  const ahead = createShardsAhead({
    copy: (shard, signal) =>
      new Promise((resolve, reject) => {
        events.push(`begun ${shard}`);
        ends.set(shard, (error) => (error === undefined ? resolve() : reject(error)));
        onAbort(signal, () => {
          events.push(`ended ${shard}`);
          reject(new Error("ended"));
        });
      }),
    monotonic: () => performance.now(),
    log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
  });
  return { ahead, events, lines, ends };
}

suite("shards that are copied ahead", (test) => {
  test("a caller waits until the copy is there, and each copy is logged once", async () => {
    const { ahead, events, lines, ends } = openAhead();
    const both = Promise.all([ahead.copy(1), ahead.copy(1)]);
    ends.get(1)?.();
    assert.equal(await both, [true, true]);
    assert.equal([events, lines], [["begun 1"], ["info: a shard is copied ahead"]]);
    void ahead.copy(1);
    assert.equal(events, ["begun 1", "begun 1"], "asked again, it copies what has come since");
    await ahead.close();
  });

  test("a copy that takes long goes on, and the caller learns that", async () => {
    const { ahead, events, ends } = openAhead();
    assert.is(await ahead.copy(1), false);
    const again = ahead.copy(1);
    ends.get(1)?.();
    assert.is(await again, true);
    assert.equal(events, ["begun 1"]);
  });

  test("no more than two are copied at once: another has to be asked for again", async () => {
    const { ahead, events, ends } = openAhead();
    const first = ahead.copy(1);
    void ahead.copy(2);
    assert.is(await ahead.copy(3), false);
    ends.get(1)?.();
    assert.is(await first, true);
    void ahead.copy(3);
    assert.equal(events, ["begun 1", "begun 2", "begun 3"]);
    await ahead.close();
  });

  test("a copy that fails holds up nobody, and is one line of the log", async () => {
    const { ahead, lines, ends } = openAhead();
    const asked = ahead.copy(1);
    ends.get(1)?.(new Error("disk full"));
    assert.is(await asked, true);
    assert.equal(lines, ["warn: cannot copy a shard ahead"]);
  });

  test("one whose shard has come ends without a word, before the shard is opened", async () => {
    const { ahead, events, lines } = openAhead();
    const asked = ahead.copy(1);
    await ahead.end(2);
    await ahead.end(1);
    assert.is(await asked, true);
    assert.equal([events, lines], [["begun 1", "ended 1"], []]);
  });

  test("a node that stops ends them all and begins none", async () => {
    const { ahead, events } = openAhead();
    void ahead.copy(1);
    void ahead.copy(2);
    await until(() => events.length === 2, { what: "two that are copied" });
    await ahead.close();
    assert.is(await ahead.copy(3), true);
    assert.equal(events, ["begun 1", "begun 2", "ended 1", "ended 2"]);
  });

  test("what may come unasked is copied without a word, leaves a place for what is asked for, and waits for none", async () => {
    const { ahead, events, lines, ends } = openAhead();
    const kept = ahead.keepUp(1);
    await ahead.keepUp(2);
    const asked = ahead.copy(3);
    assert.equal(events, ["begun 1", "begun 3"]);
    ends.get(1)?.();
    await kept;
    ends.get(3)?.();
    assert.is(await asked, true);
    assert.equal(lines, ["debug: a shard is copied ahead", "info: a shard is copied ahead"]);
    await ahead.close();
  });

  test("one that is requested while it is copied unasked is logged", async () => {
    const { ahead, events, lines, ends } = openAhead();
    const kept = ahead.keepUp(1);
    const asked = ahead.copy(1);
    ends.get(1)?.();
    await kept;
    assert.is(await asked, true);
    assert.equal([events, lines], [["begun 1"], ["info: a shard is copied ahead"]]);
  });

  test("a shard that cannot be copied is logged once, until it can", async () => {
    const { ahead, lines, ends } = openAhead();
    const attempt = async (error?: Error): Promise<void> => {
      const kept = ahead.keepUp(1);
      ends.get(1)?.(error);
      await kept;
    };
    await attempt(new Error("away"));
    await attempt(new Error("away"));
    await attempt();
    await attempt(new Error("away"));
    const [failed, copied] = ["warn: cannot copy a shard ahead", "debug: a shard is copied ahead"];
    assert.equal(lines, [failed, copied, failed]);
  });

  test("a shard that is opened ends its copying", async () => {
    const { ahead, events } = openAhead();
    const kept = ahead.keepUp(1);
    await ahead.end(1);
    await kept;
    assert.equal(events, ["begun 1", "ended 1"]);
    await ahead.close();
    await ahead.keepUp(2);
    assert.equal(events, ["begun 1", "ended 1"]);
  });
});

import { setTimeout as delay } from "node:timers/promises";
import { createWriteLoop } from "../../../ingest/alerts/write-loop.js";
import { assert, suite } from "../../suite.js";

suite("write loop", (test) => {
  test("one write at a time, and what is due once its delay is over", async () => {
    const events: string[] = [];
    const loop = createWriteLoop(
      {
        writeDue: async () => void events.push("due"),
        nextDelayMs: () => null,
        onFailure: (error) => void events.push(error.message),
      },
      new AbortController().signal,
    );
    loop.schedule(1);
    const write = async (name: string): Promise<void> => {
      events.push(`${name} begins`);
      await delay(20);
      events.push(`${name} ends`);
    };
    await Promise.all([loop.alone(() => write("first")), loop.alone(() => write("second"))]);
    assert.equal(events, ["first begins", "first ends", "second begins", "second ends"]);
    loop.schedule(60_000);
    loop.reschedule(1);
    await delay(20);
    assert.equal(events.at(-1), "due");
    await loop.end();
  });

  test("nothing is written after a write that failed, though it was scheduled", async () => {
    const events: string[] = [];
    const loop = createWriteLoop(
      {
        writeDue: async () => void events.push("due"),
        nextDelayMs: () => 1,
        onFailure: (error) => void events.push(error.message),
      },
      new AbortController().signal,
    );
    await loop.alone(() => Promise.reject(new Error("a column is missing")));
    loop.schedule(1);
    await loop.alone(async () => void events.push("asked for"));
    await delay(20);
    assert.equal(events, ["a column is missing"]);
    assert.ok(loop.hasFailed && !loop.isRunning);
    await loop.end();
  });
});

/** Whether a node reaches the brokers: what counts as reached, and what is logged. */
import { watchBrokers } from "../../src/cluster/brokers-watch.js";
import { onAbort } from "../../store/lib/abortable.js";
import { createStillClock } from "../clock.js";
import { assert, suite } from "../suite.js";

suite("watch over the brokers", (test) => {
  /** Each request takes so long, and then has an answer or none. */
  function start(question: { ms: number; isAnswered: boolean }) {
    const clock = createStillClock();
    const lines: string[] = [];
    let isClosed = false;
    let wake = (): void => undefined;
    const log = (msg: string): void => void lines.push(msg);
    const watch = watchBrokers({
      brokers: {
        ask: async () => {
          clock.pass(question.ms);
          if (!question.isAnswered || isClosed) throw new Error("no answer");
        },
        close: () => {
          isClosed = true;
        },
      },
      monotonic: clock.monotonic,
      log: { debug: log, info: log, warn: log, error: log },
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          const leave = onAbort(signal, resolve);
          wake = () => {
            clock.pass(ms);
            leave();
            resolve();
          };
        }),
    });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    return {
      watch,
      lines,
      isClosed: () => isClosed,
      /** After each request, whether the node is able. */
      ask: async (times: number): Promise<boolean[]> => {
        const able: boolean[] = [];
        for (let asked = 0; asked < times; asked++) {
          await settle();
          wake();
          await settle();
          able.push(watch.isAble);
        }
        return able;
      },
    };
  }

  test("a node is unable once nothing has answered for 6 s, and able at the first answer: a line each", async () => {
    const question = { ms: 0, isAnswered: true };
    const { watch, ask, lines } = start(question);
    assert.equal(await ask(3), [true, true, true]);
    question.isAnswered = false;
    // One every 2 s.
    assert.equal(await ask(5), [true, true, true, false, false]);
    question.isAnswered = true;
    assert.equal(await ask(2), [true, true]);
    assert.equal(lines, [
      "no broker can be reached: shards go to nodes that reach one",
      "brokers can be reached again",
    ]);
    await watch.close();
  });

  test("an answer in between begins the time anew", async () => {
    const question = { ms: 0, isAnswered: false };
    const { watch, ask, lines } = start(question);
    await ask(2);
    question.isAnswered = true;
    await ask(1);
    question.isAnswered = false;
    assert.equal(await ask(3), [true, true, true]);
    assert.equal(lines, []);
    await watch.close();
  });

  test("one question that takes long, as in a process that was paused, says nothing", async () => {
    const question = { ms: 0, isAnswered: true };
    const { watch, ask, lines } = start(question);
    await ask(1);
    Object.assign(question, { ms: 20_000, isAnswered: false });
    assert.equal(await ask(1), [true]);
    Object.assign(question, { ms: 0, isAnswered: true });
    assert.equal([await ask(1), lines], [[true], []]);
    await watch.close();
  });

  test("it ends at once, and says nothing of that", async () => {
    const { watch, lines, isClosed, ask } = start({ ms: 10_000, isAnswered: true });
    await ask(1);
    await watch.close();
    assert.equal([isClosed(), lines, watch.isAble], [true, [], true]);
  });
});

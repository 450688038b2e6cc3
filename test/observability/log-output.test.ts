/** Log lines whose reader is slow, gone, and there again. */
import { Writable } from "node:stream";
import { createLogOutput } from "../../src/observability/log-output.js";
import { assert, suite } from "../suite.js";

/** A stream whose writes end when and how the test says. */
function heldStream() {
  const waiting: { readonly text: string; readonly done: (error?: Error | null) => void }[] = [];
  let failure: Error | null = null;
  const out = new Writable({
    autoDestroy: false,
    write: (chunk, _encoding, done) => {
      if (failure === null) waiting.push({ text: String(chunk), done });
      else done(failure);
    },
  });
  const written: string[] = [];
  return {
    out,
    written,
    fail: (error: Error | null) => {
      failure = error;
    },
    /** Takes all that waits, and what comes of it. */
    drain: async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        written.push(next.text);
        next.done();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

const now = () => Date.UTC(2026, 0, 1);

suite("the output of the log", (test) => {
  test("holds no more than its bytes for a reader that is slow, counts the rest, and says so once it reads", async () => {
    const { out, written, drain } = heldStream();
    const output = createLogOutput(out, now, 1000);
    const lines = Array.from({ length: 50 }, (_, i) => `${String(i).padEnd(99, ".")}\n`);
    for (const line of lines) output.write(line);
    assert.is(output.dropped, 40);
    await drain();
    assert.equal(written.slice(0, 10), lines.slice(0, 10));
    assert.equal(
      written.slice(10).map((line) => JSON.parse(line) as unknown),
      [
        {
          time: "2026-01-01T00:00:00.000Z",
          level: "warn",
          msg: "log lines were dropped: nobody has read them in time",
          lines: 40,
        },
      ],
    );
    output.write("after\n");
    await drain();
    assert.is(written.at(-1), "after\n");
    assert.is(output.dropped, 40);
  });

  test("goes on without a reader, and says what is missing once there is one", async () => {
    // As the process' own output, which an error does not end.
    let isGone = true;
    const written: string[] = [];
    const out = {
      on: () => out,
      write: (text: string, done: (error?: Error) => void) => {
        if (!isGone) written.push(text);
        setImmediate(() => (isGone ? done(new Error("write EPIPE")) : done()));
        return true;
      },
    } as unknown as Writable;
    const output = createLogOutput(out, now);
    for (let i = 0; i < 7; i++) output.write(`${i}\n`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(output.dropped, 7);
    isGone = false;
    output.write("here\n");
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(written[0], "here\n");
    assert.match(written[1] ?? "", /"lines":7/);
    assert.is(written.length, 2);
    assert.is(output.dropped, 7);
  });
});

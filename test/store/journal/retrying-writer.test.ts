/** A disk, or a log, that takes nothing for a while. */
import { createRetryingWriter } from "../../../store/journal/retrying-writer.js";
import type { JournalWriter } from "../../../store/journal/writer.js";
import { assert, suite, until, withTempDir } from "../../suite.js";

const retryMs = { first: 1, longest: 1 };

suite("a writer that waits for its disk", (test) => {
  test("stays stopped after a segment that could not be begun, until it has been", () =>
    withTempDir(async (dir) => {
      const begun: number[] = [];
      let failuresLeft = 3;
      const changes: (string | null)[] = [];
      const writer = createRetryingWriter(
        {
          begin: async (firstID: number) => {
            begun.push(firstID);
            if (failuresLeft-- > 0) throw new Error("the log is away");
          },
        } as unknown as JournalWriter,
        { dir, freeBytesMin: 0, retryMs, onStopped: (reason) => void changes.push(reason) },
      );
      await writer.begin(7);
      assert.is(writer.stopped, "the log is away");
      await until(() => writer.stopped === null, { what: "a log that is back" });
      assert.equal(
        [begun, changes],
        [
          [7, 7, 7, 7],
          ["the log is away", null],
        ],
      );
      await writer.stopTrying();
    }));

  test("leaves a segment that could not be begun to the first write, which waits for what is under way", () =>
    withTempDir(async (dir) => {
      const calls: string[] = [];
      let isAway = true;
      let letGoOn = (): void => undefined;
      const writer = createRetryingWriter(
        {
          begin: async () => {
            calls.push("begin");
            if (isAway && calls.length === 1) throw new Error("the log is away");
            await new Promise<void>((resolve) => {
              letGoOn = resolve;
            });
            calls.push("has begun");
            throw new Error("it is still away");
          },
          write: async () => {
            calls.push("write");
            return { segment: {}, position: 0 };
          },
          abandon: async () => undefined,
        } as unknown as JournalWriter,
        { dir, freeBytesMin: 0, retryMs, onStopped: () => undefined },
      );
      await writer.begin(7);
      await until(() => calls.length === 2, { what: "the next try" });
      const written = writer.write({ bytes: 1 } as never);
      isAway = false;
      letGoOn();
      await written;
      assert.equal(calls, ["begin", "begin", "has begun", "write"]);
      assert.is(writer.stopped, null);
      await writer.stopTrying();
    }));
});

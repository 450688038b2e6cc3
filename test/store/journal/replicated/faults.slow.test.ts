import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import type { Journal } from "../../../../store/journal/journal.js";
import { AppendError, type PartitionLog } from "../../../../store/journal/kafka/partition-log.js";
import { encodeClaim } from "../../../../store/journal/replicated/log-frames.js";
import { assert, rejects, suite, until, withTempDir } from "../../../suite.js";
import { createMemoryLog, type Outcome } from "../memory-log.js";
import { flipByte, journalInput, keep, readAll, textOf } from "../support.js";
import { openInLog } from "./support.js";

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Outcome>("kept") },
  { weight: 1, arbitrary: fc.constant<Outcome>("refused") },
  { weight: 1, arbitrary: fc.constant<Outcome>("unanswered") },
  {
    weight: 1,
    arbitrary: fc.record({ late: fc.oneof(fc.nat({ max: 3 }), fc.constant(Number.POSITIVE_INFINITY)) }),
  },
);

/** Ids and payloads, in order. */
const contents = async (journal: Journal): Promise<string[]> =>
  (await readAll(journal)).map((record) => `${record.id} ${textOf(record)}`);

const segmentNames = async (dir: string): Promise<string[]> =>
  (await readdir(dir)).filter((name) => name.endsWith(".journal")).sort();

/** The segments of a folder, by name, with their bytes. */
async function segmentsIn(dir: string): Promise<Map<string, string>> {
  return new Map(
    await Promise.all(
      (await segmentNames(dir)).map(
        async (name) => [name, (await readFile(join(dir, name))).toString("base64")] as const,
      ),
    ),
  );
}

suite("journal in a log that fails", (test) => {
  test("is reported once when it can take nothing, whatever it says at each attempt", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const connection = log.connect();
      let attempts = 0;
      let isAway = false;
      const troubles: string[] = [];
      const journal = await openInLog(
        dir,
        {
          ...connection,
          append: async (frame) => {
            if (!isAway) return connection.append(frame);
            throw new AppendError("not written", "UNAVAILABLE", `no answer within ${1500 - attempts++} ms`);
          },
        },
        { onTrouble: ({ message }) => troubles.push(message) },
      );
      for (const round of [1, 2]) {
        isAway = true;
        const before = attempts;
        const kept = keep(journal);
        await until(() => attempts >= before + 3, { what: "several attempts" });
        assert.match(journal.stopped ?? "", /no answer within/);
        isAway = false;
        await kept;
        assert.is(troubles.length, round, troubles.join());
      }
      await journal.close();
    }));

  test("through refusals, lost answers, late frames and new owners on other machines, each acknowledged record is there once, on every machine the same", async () => {
    const runs = fc.array(
      fc.record({
        machine: fc.nat({ max: 2 }),
        records: fc.array(fc.nat({ max: 900 }), { maxLength: 12 }),
        isKilled: fc.boolean(),
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(runs, fc.array(outcomes, { maxLength: 60 }), (owners, fates) =>
        withTempDir(async (dir) => {
          const fate = fates.values();
          const log = createMemoryLog(() => fate.next().value ?? "kept");
          const acknowledged: string[] = [];
          let sent = 0;
          for (const { machine, records, isKilled } of owners) {
            const connection = log.connect();
            const options = { segmentBytesMax: 1500, frameBytesMax: 900_000 };
            const journal = await openInLog(join(dir, String(machine)), connection, options);
            for (const length of records) {
              const text = `${sent++}${".".repeat(length)}`;
              journal.append(journalInput({ payload: Buffer.from(text) }), (id) =>
                acknowledged.push(`${id} ${text}`),
              );
              if (length % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
            }
            // A killed owner's connection ends in the midst of an append.
            if (isKilled) connection.close();
            else await journal.waitFor(journal.appendedID - 1);
            await journal.close();
          }
          const last = await openInLog(join(dir, "0"), log.connect());
          const found = await contents(last);
          await last.close();
          const fresh = await openInLog(join(dir, "fresh"), log.connect());
          assert.equal(await contents(fresh), found, "another machine has the same");
          await fresh.close();
          const ids = found.map((one) => Number(one.split(" ")[0]));
          assert.equal(
            ids,
            [...new Set(ids)].sort((a, b) => a - b),
            "each id once, in order",
          );
          assert.equal(
            acknowledged.filter((one) => !found.includes(one)),
            [],
            "acknowledged and not there",
          );
        }),
      ),
      { numRuns: 150, endOnFailure: true },
    );
  });

  test("an owner that another has followed acknowledges nothing more, and says so once", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const lost: string[] = [];
      const former = await openInLog(join(dir, "a"), log.connect(), {
        onEnded: (error) => lost.push(error.message),
      });
      const first = await keep(former, { payload: Buffer.from("before") });
      const next = await openInLog(join(dir, "b"), log.connect());
      const told: number[] = [];
      for (let i = 0; i < 3; i++) former.append(journalInput(), (id) => told.push(id));
      await until(() => lost.length > 0, { what: "the loss" });
      assert.match(former.stopped ?? "", /another process has taken over the journal/);
      assert.is(former.full, true);
      assert.is(await keep(next, { payload: Buffer.from("after") }), first + 1);
      assert.equal([told, lost.length], [[], 1]);
      assert.equal(await contents(next), ["1 before", "2 after"]);
      await former.close();
      await next.close();
      const third = await openInLog(join(dir, "c"), log.connect());
      assert.equal(await contents(third), ["1 before", "2 after"], "what the former has appended is void");
      await third.close();
    }));

  test("one whose log does not answer closes all the same, and acknowledges nothing of what was under way", () =>
    withTempDir(async (dir) => {
      for (const [fate, expected] of [
        ["refused", ["1 before"]],
        ["unanswered", ["1 before", "2 under way"]],
      ] as const) {
        let isAway = false;
        const log = createMemoryLog(() => (isAway ? fate : "kept"));
        const former = await openInLog(join(dir, fate, "a"), log.connect());
        await keep(former, { payload: Buffer.from("before") });
        isAway = true;
        const told: number[] = [];
        for (const text of ["under way", "behind it"]) {
          former.append(journalInput({ payload: Buffer.from(text) }), (id) => told.push(id));
          await until(() => former.stopped !== null, { what: "the log to be away" });
        }
        await former.close();
        isAway = false;
        const next = await openInLog(join(dir, fate, "b"), log.connect());
        assert.equal([told, await contents(next)], [[], expected]);
        await next.close();
      }
    }));

  test("a stop ends an opening, whatever of the log does not answer", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "copy"), log.connect());
      await keep(first, { payload: Buffer.from("before") });
      await first.close();
      for (const [call, folder] of [
        ["start", "new"],
        ["end", "new"],
        ["read", "new"],
        ["append", "new"],
        ["start", "copy"],
        ["read", "copy"],
        ["append", "copy"],
      ] as const) {
        const stopping = new AbortController();
        let asked = 0;
        let close = (): void => undefined;
        const closed = new Promise<never>((_, reject) => {
          close = () => reject(new AppendError("not written", "UNAVAILABLE", "the log is closed"));
        });
        closed.catch(() => undefined);
        const never = (): Promise<never> => {
          asked++;
          return closed;
        };
        const connection = log.connect();
        const silent = {
          ...connection,
          close,
          [call]: call === "read" ? () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }) : never,
        } as PartitionLog;
        const opened = rejects(() => openInLog(join(dir, folder), silent, { signal: stopping.signal }));
        await until(() => asked === 1, { what: `${call} to be asked` });
        stopping.abort();
        assert.match((await opened).message, /the log is closed/, `${call}, ${folder}`);
        assert.is(asked, 1);
      }
      const late = { signal: AbortSignal.abort() };
      const refused = await rejects(() => openInLog(join(dir, "late"), log.connect(), late));
      assert.match(refused.message, /the log is closed/);
      const next = await openInLog(join(dir, "copy"), log.connect());
      assert.equal(await contents(next), ["1 before"]);
      await next.close();
    }));

  test("the second of two that claim the same epoch tries again", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const connection = log.connect();
      let isFirst = true;
      const rival: PartitionLog = {
        ...connection,
        append: (frame) => {
          if (isFirst) log.frames.push(encodeClaim(1, { deployment: "tests", shard: 0, owner: "the other" }));
          isFirst = false;
          return connection.append(frame);
        },
      };
      const journal = await openInLog(dir, rival);
      assert.is(await keep(journal), 1);
      assert.is(log.frames.length, 5, "two claims of epoch 1, one of epoch 2, a beginning, records");
      await journal.close();
    }));

  test("a folder that has lost or changed something is made whole from the log", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const small = { segmentBytesMax: 2000 };
      const first = await openInLog(dir, log.connect(), small);
      for (let i = 0; i < 12; i++)
        await keep(first, { payload: Buffer.alloc(700, String.fromCharCode(97 + i)) });
      await first.close();
      const whole = await segmentsIn(dir);
      const [oldest, second, ...others] = [...whole.keys()];
      const newest = others.at(-1);
      if (oldest === undefined || second === undefined || newest === undefined) throw new Error("too few");
      const damages: readonly (readonly [string, () => Promise<unknown>])[] = [
        ["a file is gone", () => rm(join(dir, oldest))],
        ["a file is short", () => truncate(join(dir, second), 700)],
        ["the newest is gone", () => rm(join(dir, newest))],
        ["the newest is cut", () => truncate(join(dir, newest), 300)],
        ["a byte of the newest is another", () => flipByte(join(dir, newest), 200)],
        ["the mark is another", () => flipByte(join(dir, "copy.json"), 30)],
        ["a segment that belongs to nobody", () => writeFile(join(dir, oldest.replace("1-", "7-")), "x")],
        ["all is gone", () => rm(dir, { recursive: true })],
      ];
      for (const [what, damage] of damages) {
        await damage();
        const troubles: string[] = [];
        const again = await openInLog(dir, log.connect(), {
          ...small,
          onTrouble: (error) => troubles.push(error.message),
        });
        assert.equal(await segmentsIn(dir), whole, what);
        const isTold = !what.startsWith("all") && !what.startsWith("a segment");
        assert.is(troubles.length, isTold ? 1 : 0, `${what}: ${troubles.join()}`);
        await again.close();
      }
    }));

  test("segments that are dropped leave the log; a machine that was away so long begins anew", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const small = { segmentBytesMax: 1 };
      const [a, b] = [join(dir, "a"), join(dir, "b")];
      const away = await openInLog(b, log.connect(), small);
      for (let i = 0; i < 3; i++) await keep(away);
      await away.close();
      const journal = await openInLog(a, log.connect(), small);
      for (let i = 0; i < 3; i++) await keep(journal);
      while (journal.segments.length > 1) await journal.drop(journal.segments[0] as never);
      const left = await contents(journal);
      assert.is(left.length, 1);
      assert.ok(log.first > 5, `the log begins at ${log.first}`);
      await journal.close();
      const back = await openInLog(b, log.connect(), small);
      assert.equal(await contents(back), left);
      assert.is(await keep(back), 7);
      await back.close();
    }));

  test("refuses a folder with a journal of its own, the copy of another log, another deployment's, and foreign frames", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const first = await openInLog(join(dir, "a"), log.connect());
      await keep(first);
      await first.close();
      await rejects(
        () => openInLog(join(dir, "a"), log.connect(), { topicID: "another" }),
        /copy of partition 0 of the topic with id topic/,
      );
      await rejects(
        () => openInLog(join(dir, "b"), log.connect(), { deployment: "another" }),
        /it is that of another deployment/,
      );
      await rm(join(dir, "a", "copy.json"));
      await rejects(() => openInLog(join(dir, "a"), log.connect()), /kept there alone/);
      const foreign = createMemoryLog();
      foreign.frames.push(Buffer.from("somebody else's message"));
      await rejects(() => openInLog(join(dir, "c"), foreign.connect()), /none of Tidemark's/);
      assert.is(foreign.frames.length, 1, "nothing was appended to it");
    }));

  test("refuses a log that has lost frames which the folder has", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const journal = await openInLog(dir, log.connect());
      for (let i = 0; i < 5; i++) await keep(journal);
      await journal.close();
      const whole = [...log.frames];
      const [newest = ""] = await segmentNames(dir);
      const broken: readonly (() => Promise<void>)[] = [
        async () => undefined,
        () => flipByte(join(dir, newest), 60),
        () => truncate(join(dir, newest), 10),
        () => rm(join(dir, newest)),
      ];
      for (const breakFolder of broken) {
        await breakFolder();
        for (const kept of [whole.length - 1, whole.length - 2, 2, 0]) {
          log.frames.splice(0, log.frames.length, ...whole.slice(0, kept));
          const found = `it has lost frames: it ends at offset ${kept}, .* up to ${whole.length - 1}$`;
          await rejects(() => openInLog(dir, log.connect()), new RegExp(found));
          assert.is(log.frames.length, kept, "nothing was appended to it");
        }
      }
      log.frames.splice(0, log.frames.length, ...whole);
      const again = await openInLog(dir, log.connect());
      assert.is((await contents(again)).length, 5, "once it has them again, all is well");
      await again.close();
    }));

  test("a log whose end is reported too low for a moment has lost nothing", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      const journal = await openInLog(dir, log.connect());
      for (let i = 0; i < 5; i++) await keep(journal);
      await journal.close();
      const late = log.frames.splice(2);
      const way = log.connect();
      const endOnce = async (): Promise<number> => {
        const end = await way.end();
        log.frames.push(...late.splice(0));
        return end;
      };
      const again = await openInLog(dir, { ...way, end: endOnce });
      assert.is(late.length, 0, "it was looked at");
      assert.is((await contents(again)).length, 5);
      await again.close();
    }));

  test("refuses a clock that is ten seconds apart from the log's, either way", () =>
    withTempDir(async (dir) => {
      const log = createMemoryLog();
      log.now = () => 1_700_000_000_000;
      for (const apartMs of [-10_001, 10_001]) {
        const clock = () => log.now() + apartMs;
        await rejects(() => openInLog(dir, log.connect(), { clock }), /the clocks are apart/);
      }
      const journal = await openInLog(dir, log.connect(), { clock: () => log.now() + 9999 });
      await journal.close();
    }));

  test("while the log takes nothing it says why, and acknowledges when it takes again", () =>
    withTempDir(async (dir) => {
      let fate: Outcome = "kept";
      const log = createMemoryLog(() => fate);
      const journal = await openInLog(dir, log.connect());
      await keep(journal);
      fate = "refused";
      let id = 0;
      journal.append(journalInput(), (kept) => {
        id = kept;
      });
      await until(() => journal.stopped !== null, { what: "the stop" });
      assert.match(journal.stopped ?? "", /too few replicas/);
      assert.equal([journal.full, id], [true, 0]);
      fate = "kept";
      await until(() => id === 2, { what: "the acknowledgement" });
      assert.is(journal.stopped, null);
      await journal.close();
    }));
});

import { chunkBytesMax, inChunks } from "../../src/http/chunks.js";
import { eventStream } from "../../src/http/event-stream.js";
import { createPacer, createSlice } from "../../store/lib/scheduling.js";
import { assert, suite, until } from "../suite.js";

const bytes = (length: number, value = 1) => new Uint8Array(length).fill(value);

suite("chunks", (test) => {
  test("small pieces go together, long ones are cut, nothing is lost", () => {
    const pieces = [bytes(3), bytes(0), bytes(4, 2), bytes(25, 3), bytes(1, 4)];
    const chunks = [...inChunks(pieces, 10)];
    assert.equal(
      chunks.map((chunk) => chunk.length),
      [10, 10, 10, 3],
    );
    assert.equal([...Buffer.concat(chunks)], [...Buffer.concat(pieces)]);
    assert.equal([...inChunks([])], []);
    assert.is([...inChunks([bytes(chunkBytesMax)])].length, 1);
  });
});

suite("event stream", (test) => {
  function source(chunks: readonly Uint8Array[]) {
    const told = { made: 0, left: 0, stalled: 0 };
    async function* make() {
      for (const chunk of chunks) {
        told.made++;
        yield chunk;
      }
    }
    return {
      told,
      chunks: make(),
      left: () => {
        told.left++;
      },
      stalled: () => {
        told.stalled++;
      },
    };
  }

  test("what makes the chunks ends with its reader, also where it waits for the next", async () => {
    for (const stalls of [false, true]) {
      let ended = 0;
      let wake = (): void => undefined;
      async function* make() {
        try {
          yield bytes(1);
          if (!stalls) await new Promise<void>((resolve) => (wake = resolve));
          yield bytes(2);
        } finally {
          ended++;
        }
      }
      const told = { left: () => wake(), stalled: () => undefined };
      const reader = eventStream({ chunks: make(), ...told }, stalls ? 5 : 10_000).getReader();
      await reader.read();
      if (!stalls) {
        void reader.read();
        await new Promise((resolve) => setImmediate(resolve));
        await reader.cancel();
      }
      await until(() => ended === 1, { what: "the end of the generator" });
    }
  });

  test("a chunk is made when the one before was taken", async () => {
    const one = source([bytes(1), bytes(2), bytes(3)]);
    const reader = eventStream(one).getReader();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(one.told.made, 0);
    await reader.read();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(one.told.made, 1);
    await reader.cancel();
    assert.equal([one.told.left, one.told.stalled], [1, 0]);
  });

  test("a reader that takes nothing for too long has stalled, once; one that reads to the end has not", async () => {
    const slow = source([bytes(1), bytes(2)]);
    const reader = eventStream(slow, 5).getReader();
    await reader.read();
    await until(() => slow.told.stalled === 1, { what: "the stall" });
    await reader.cancel();
    assert.equal([slow.told.left, slow.told.stalled], [0, 1]);
    const quick = source([bytes(1), bytes(2)]);
    let read = 0;
    for await (const chunk of eventStream(quick, 50)) read += chunk.length;
    await new Promise((resolve) => setTimeout(resolve, 80));
    assert.equal([read, quick.told.stalled], [3, 0]);
  });
});

suite("pacer", (test) => {
  test("many works at once end in order and let others run between slices", async () => {
    const paced = createPacer(2);
    const done: number[] = [];
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        paced(() => {
          const slice = createSlice(1);
          while (!slice.isOver());
          done.push(i);
        }),
      ),
    );
    clearInterval(counting);
    assert.equal(
      done,
      Array.from({ length: 20 }, (_, i) => i),
    );
    assert.ok(turns >= 5, `${turns} turns`);
    const failed = await paced(() => {
      throw new Error("mine");
    }).catch((error: Error) => error.message);
    assert.is(failed, "mine");
    assert.is(await paced(() => 7), 7);
  });
});

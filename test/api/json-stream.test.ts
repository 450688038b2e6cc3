import fc from "fast-check";
import { chunkBytesMax } from "../../src/http/chunks.js";
import { conditionalAnswer } from "../../src/http/conditional-response.js";
import {
  Column,
  chunksOfTexts,
  createByteStream,
  isLong,
  jsonTexts,
  keyPieces,
} from "../../src/http/json-stream.js";
import { pageAnswer } from "../../src/http/paging.js";
import { pageBytesMax } from "../../store/metadata/db/page-bytes.js";
import { assert, suite } from "../suite.js";

const textOf = async (body: unknown) => new Response(body as ReadableStream).text();

suite("JSON in slices", (test) => {
  test("what comes out piece by piece is what JSON.stringify makes", () => {
    const long = fc.array(fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined)), {
      minLength: 20,
      maxLength: 260,
    });
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constant({ text: ["x".repeat(70_000), "é\u0001".repeat(9_000)], none: undefined }),
      long,
      fc.record({ a: fc.jsonValue(), items: long, none: fc.constant(undefined) }),
      fc.array(fc.record({ time: long, value: long }), { maxLength: 3 }),
    );
    fc.assert(
      fc.property(value, (one) => {
        assert.is([...jsonTexts(one)].join(""), JSON.stringify(one));
      }),
      { numRuns: 60 },
    );
  });

  test("a column is made in steps, never whole, and short ones with the rest", () => {
    const steps: number[] = [];
    const column = new Column(2_500, (from, to) => {
      steps.push(to - from);
      return Array.from({ length: to - from }, (_, i) => from + i);
    });
    const all = Array.from({ length: 2_500 }, (_, i) => i);
    assert.is([...jsonTexts([{ time: column }])].join(""), JSON.stringify([{ time: all }]));
    assert.equal(steps, [1000, 1000, 500]);
    assert.not(isLong({ a: new Column(3, () => [1, 2, 3]) }));
    const short = Array.from({ length: 50 }, () => Array.from({ length: 15 }, () => 1));
    assert.equal([short, [short, short], ["x".repeat(70_000)], [[["x".repeat(60_000)]]]].map(isLong), [
      ...[false, true, true, false],
    ]);
    const texts = new Column(100, (from, to) => new Array(to - from).fill("x"), null, 16);
    assert.ok(isLong(texts), "its elements may be long");
    assert.is([...jsonTexts(texts)].join(""), JSON.stringify(new Array(100).fill("x")));
    assert.is(JSON.stringify({ a: new Column(3, () => [1, 2, 3]) }), '{"a":[1,2,3]}');
  });

  test("a stream makes a chunk when it is asked for one, of 64 KiB at most", async () => {
    let made = 0;
    const column = new Column(1_000_000, (from, to) => {
      made = to;
      return new Array(to - from).fill(123_456);
    });
    const reader = createByteStream(chunksOfTexts(jsonTexts([column]))).getReader();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.is(made, 0);
    const { value } = await reader.read();
    assert.is(value?.length, chunkBytesMax);
    assert.ok(made <= 11_000, `${made} values for the first chunk`);
    await reader.cancel();
  });

  test("the tag follows the content: values, times, headers and form, not the encoding", async () => {
    const times = Float64Array.from({ length: 5_000 }, (_, i) => i);
    const body = (value: number, shift = 0) => {
      const own = times.map((time) => time + shift);
      return [
        {
          time: new Column(own.length, (from, to) => Array.from(own.subarray(from, to), String), own),
          value: new Column(own.length, (from, to) => new Array(to - from).fill(value)),
        },
      ];
    };
    const ask = (headers: Record<string, string> = {}) => new Request("http://x/", { headers });
    const tag = async (...[value, shift, headers, form]: [number, number, object, string]) =>
      (await conditionalAnswer(ask(), body(value, shift), headers as never, form)).headers?.ETag;
    const first = await tag(1, 0, {}, "text UTC");
    assert.is(await tag(1, 0, {}, "text UTC"), first);
    const others = [
      await tag(2, 0, {}, "text UTC"),
      await tag(1, 1, {}, "text UTC"),
      await tag(1, 0, { Truncated: "true" }, "text UTC"),
      await tag(1, 0, {}, "ms UTC"),
    ];
    assert.is(new Set([first, ...others]).size, 5);
    const known = await conditionalAnswer(ask({ "if-none-match": String(first) }), body(1), {}, "text UTC");
    assert.is(known.status, 304);
    const plain = await conditionalAnswer(ask(), body(1), {}, "text UTC");
    const packed = await conditionalAnswer(ask({ "accept-encoding": "gzip" }), body(1), {}, "text UTC");
    assert.is(packed.headers?.ETag, first);
    assert.is(packed.headers?.["Content-Encoding"], "gzip");
    const unpacked = (packed.body as ReadableStream).pipeThrough(new DecompressionStream("gzip"));
    const text = await textOf(unpacked);
    assert.is(text, await textOf(plain.body));
    assert.is(JSON.parse(text)[0].time.length, 5_000);
    assert.ok([...keyPieces(body(1))].some((piece) => typeof piece !== "string"));
  });

  test("a page ends at a whole row by its bytes, whatever a view makes of the rows", async () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({ id }));
    const request = { page: 1, limit: 100, filters: [] };
    const page = { items: rows, count: 40 };
    const view = ({ id }: { id: number }) => ({ id, text: "\u0001".repeat(100_000) });
    const { body, headers } = await pageAnswer(page, request, view);
    assert.equal(headers, { Truncated: "true" });
    const text = await textOf(body);
    assert.ok(text.length <= pageBytesMax + 1000);
    const parsed = JSON.parse(text);
    assert.equal(
      parsed.items.map(({ id }: { id: number }) => id),
      rows.slice(0, 13).map(({ id }) => id),
    );
    assert.equal(parsed.meta, { count: 40, limit: 100, page: 1 });
    const small = await pageAnswer(page, request, (row) => row);
    assert.equal([typeof small.body, small.headers], ["string", {}]);
    assert.equal(JSON.parse(String(small.body)).items, rows);
    assert.equal(
      JSON.parse(String((await pageAnswer({ items: [], count: 0 }, request, (row) => row)).body)),
      {
        items: [],
        meta: { count: 0, limit: 100, page: 1 },
      },
    );
  });
});

import fc from "fast-check";
import { createRecordCache } from "../../../store/lib/record-cache.js";
import { createVersions } from "../../../store/lib/versions.js";
import { assert, suite } from "../../suite.js";

suite("versions of records", (test) => {
  test("a reading holds unless one of its own records was touched since it began", () => {
    const versions = createVersions();
    versions.touch("a");
    const reading = versions.begin();
    assert.ok(reading.holds(["a", "b"]), "what was touched before is in it");
    versions.touch("a");
    assert.equal([reading.holds(["a", "b"]), reading.holds(["b"]), reading.holds([])], [false, true, true]);
    const later = versions.begin();
    assert.ok(later.holds(["a"]));
    reading.end();
    later.end();
  });

  test("no more is remembered than readings under way can ask for", () => {
    const step = fc.oneof(fc.constant("begin"), fc.constant("end"), fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const versions = createVersions();
        const readings: { reading: ReturnType<typeof versions.begin>; touched: Set<number> }[] = [];
        for (const one of steps) {
          if (one === "begin") readings.push({ reading: versions.begin(), touched: new Set() });
          else if (one === "end") readings.shift()?.reading.end();
          else {
            versions.touch(`record ${one}`);
            for (const { touched } of readings) touched.add(one as number);
          }
          for (const { reading, touched } of readings) {
            for (let i = 0; i < 10; i++) assert.is(reading.holds([`record ${i}`]), !touched.has(i));
          }
          const [oldest] = readings;
          assert.is(versions.size, oldest?.touched.size ?? 0);
        }
      }),
    );
  });
});

suite("remembered", (test) => {
  const open = (max = 10) => createRecordCache<string, string>(max, (value) => value.split(" "));

  test("is kept until a record that it is made of is touched, and no other", async () => {
    const remembered = open();
    let reads = 0;
    const get = (key: string, value: string) =>
      remembered.get(key, async () => {
        reads++;
        return value;
      });
    assert.is(await get("one", "a b"), "a b");
    await get("two", "b c");
    remembered.touch("d");
    await get("one", "never");
    assert.is(reads, 2);
    remembered.touch("a");
    assert.equal([remembered.peek("one"), remembered.peek("two")], [undefined, "b c"]);
    remembered.touch("b");
    assert.is(remembered.peek("two"), undefined);
  });

  test("is read once for all who ask meanwhile, and again for those whom what was read would mislead", async () => {
    const remembered = open();
    let reads = 0;
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const get = () =>
      remembered.get("one", async () => {
        const value = reads++ === 0 ? "a old" : "a new";
        if (value === "a old") await gate;
        return value;
      });
    const asked = [get(), get(), get()];
    remembered.touch("a");
    asked.push(get());
    goOn();
    assert.equal(await Promise.all(asked), ["a new", "a new", "a new", "a new"]);
    assert.is(reads, 2);
    remembered.touch("a");
    let failures = 0;
    const failing = () => remembered.get("one", () => Promise.reject(new Error(`read ${++failures}`)));
    const failed = await Promise.allSettled([failing(), failing(), failing()]);
    assert.equal(
      failed.map((one) => (one as PromiseRejectedResult).reason.message),
      ["read 1", "read 2", "read 2"],
      "a caller gets an error of a read that began after its request, and one reads for all of them",
    );
  });

  test("what is touched without end is read twice, answered, and not kept", async () => {
    const remembered = open();
    let reads = 0;
    const hot = async (value: string) => {
      reads++;
      remembered.touch("a");
      return value;
    };
    assert.is(await remembered.get("one", () => hot("a")), "a");
    assert.equal([reads, remembered.peek("one")], [2, undefined]);
    await remembered.get("other", () => hot("b"));
    assert.equal([reads, remembered.peek("other")], [3, "b"], "another's edits make nobody read again");
  });

  test("holds no more entries than its bound", async () => {
    const remembered = open(3);
    for (const key of ["1", "2", "3", "4"]) await remembered.get(key, async () => `record${key}`);
    assert.equal(
      ["1", "2", "3", "4"].map((key) => remembered.peek(key)),
      [undefined, undefined, undefined, "record4"],
    );
  });
});

/** Damage to files of the journal: what is intact is read, what is not is named, and no payload passes for a record. */
import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  truncate,
  unlink,
  writeFile,
} from "node:fs/promises";
import { basename, join } from "node:path";
import fc from "fast-check";
import type { Damage } from "../../../store/files/damage.js";
import { encodeFrame, frameBytesMax, recordSize } from "../../../store/journal/frame.js";
import type { Journal } from "../../../store/journal/journal.js";
import { decodeRecord, toFrameInput } from "../../../store/journal/record-codecs.js";
import { recordBytesLimit, scanRecords } from "../../../store/journal/scan.js";
import type { Segment } from "../../../store/journal/segment.js";
import { segmentHeadBytes } from "../../../store/journal/segment-head.js";
import { crc32c } from "../../../store/lib/crc32c.js";
import { assert, suite, withTempDir } from "../../suite.js";
import { journalInput, keep, openTestJournal, readAll, textOf } from "./support.js";

interface Written {
  readonly segments: readonly Segment[];
  /** By segment: id and bytes [from, to) of each record. */
  readonly records: readonly (readonly (readonly [id: number, from: number, to: number])[])[];
}

/** A journal of these payloads, over segments of about that many bytes, closed. */
async function write(
  dir: string,
  payloads: readonly Uint8Array[],
  segmentBytesMax: number,
): Promise<Written> {
  const journal = await openTestJournal(dir, { segmentBytesMax });
  for (const payload of payloads) await keep(journal, { payload });
  await journal.close();
  const segments = journal.segments.map((segment) => ({ ...segment }));
  return { segments, records: await Promise.all(segments.map(({ path }) => recordsOf(path))) };
}

async function recordsOf(path: string): Promise<[number, number, number][]> {
  const bytes = await readFile(path);
  const found: [number, number, number][] = [];
  for (let at = segmentHeadBytes; at < bytes.length; ) {
    const size = recordSize(bytes, at, bytes.length);
    found.push([decodeRecord(bytes, at).id, at, at + size]);
    at += size;
  }
  return found;
}

/** Opens, reads everything, closes; returns the ids and the reported damage. */
async function reread(dir: string): Promise<{ ids: number[]; damages: Damage[] }> {
  const damages: Damage[] = [];
  const journal = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
  const ids = (await readAll(journal)).map(({ id }) => id);
  await journal.close();
  return { ids, damages };
}

/** Ids that the findings call lost. */
function lostIDs(damages: readonly Damage[]): number[] {
  const spans = new Set(
    damages.map(({ what }) => /records? (\d+)(?: to (\d+))? (?:is|are) lost/.exec(what)?.slice(1)),
  );
  const ids = new Set<number>();
  for (const span of spans) {
    if (span === undefined) continue;
    for (let id = Number(span[0]); id <= Number(span[1] ?? span[0]); id++) ids.add(id);
  }
  return [...ids].sort((a, b) => a - b);
}

async function overwrite(path: string, at: number, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "r+");
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
}

const texts = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => Buffer.from(`message ${i + 1} ${"x".repeat((i * 37) % 200)}`));

suite("damage to the journal", (test) => {
  test("costs the records that it touches and no other, and names exactly those", async () => {
    const places = fc.array(
      fc.record({
        segment: fc.nat(),
        at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        bytes: fc.oneof(
          fc.uint8Array({ minLength: 1, maxLength: 40 }),
          fc.uint8Array({ minLength: 1, maxLength: 700 }),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    );
    await withTempDir(async (dir) => {
      const whole = join(dir, "whole");
      const written = await write(whole, texts(400), 6000);
      // The newest segment's end is another matter: it may be an unfinished commit.
      const closed = written.segments.length - 1;
      assert.ok(closed >= 5);
      let run = 0;
      await fc.assert(
        fc.asyncProperty(places, async (all) => {
          const copy = join(dir, `run-${run++}`);
          await mkdir(copy);
          for (const name of await readdir(whole)) await copyFile(join(whole, name), join(copy, name));
          const touched = new Set<number>();
          for (const place of all) {
            const segment = written.segments[place.segment % closed] as Segment;
            const path = join(copy, basename(segment.path));
            const before = await readFile(path);
            const at = segmentHeadBytes + Math.floor(place.at * (before.length - segmentHeadBytes));
            const bytes = place.bytes.subarray(0, before.length - at);
            await overwrite(path, at, bytes);
            for (const [id, from, to] of written.records[place.segment % closed] ?? []) {
              const isTouched = bytes.some(
                (byte, i) => at + i >= from && at + i < to && byte !== before[at + i],
              );
              if (isTouched) touched.add(id);
            }
          }
          const { ids, damages } = await reread(copy);
          const expected = written.records.flat().flatMap(([id]) => (touched.has(id) ? [] : [id]));
          assert.equal(ids, expected);
          assert.equal(
            lostIDs(damages),
            [...touched].sort((a, b) => a - b),
          );
          assert.is(damages.length > 0, touched.size > 0);
        }),
        { numRuns: 150, endOnFailure: true },
      );
    });
  });

  test("a length flipped in any way in the middle costs one record", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(60), 5000);
      const [, second] = written.segments;
      const record = written.records[1]?.[3];
      if (second === undefined || record === undefined) throw new Error("too few segments");
      const [id, from] = record;
      const right = (await readFile(second.path)).subarray(from, from + 4);
      for (let bit = 0; bit < 32; bit++) {
        const wrong = Buffer.from(right);
        wrong.writeUInt32LE((wrong.readUInt32LE(0) ^ (1 << bit)) >>> 0);
        await overwrite(second.path, from, wrong);
        const { ids, damages } = await reread(dir);
        assert.equal(
          ids,
          written.records.flat().flatMap(([one]) => (one === id ? [] : [one])),
          `bit ${bit}`,
        );
        assert.equal(lostIDs(damages), [id]);
      }
    });
  });

  test("a payload full of records of another tenant gives none, whatever stands before it is damaged", async () => {
    await withTempDir(async (dir) => {
      // The sender knows everything but the salt: the format, the ids to come, another tenant's id.
      const forge = (id: number, salt: number): Buffer => {
        const input = toFrameInput(journalInput({ tenant: 99, device: 99, payload: Buffer.from("forged") }));
        const buffer = Buffer.alloc(frameBytesMax(input));
        const now = 1_700_000_000_000_000;
        return buffer.subarray(0, encodeFrame(buffer, 0, input, id, now, now, salt));
      };
      const salts = [0, 1, 0xffff_ffff, 0x5449_4445];
      const forged = Buffer.concat(
        Array.from({ length: 1500 }, (_, i) => forge(2 + (i % 40), salts[i % salts.length] as number)),
      );
      const payloads = [...texts(3), forged, ...texts(3)];
      const written = await write(dir, payloads, recordBytesLimit);
      const [segment] = written.segments;
      const [, , third, carrier] = written.records[0] ?? [];
      if (segment === undefined || third === undefined || carrier === undefined)
        throw new Error("not written");
      const bytes = await readFile(segment.path);
      // A damaged length of the record before, or of the carrier itself, leads into the payload.
      for (const [at, length] of [
        [third[1], third[2] - third[1] - 8 + 64 + 4],
        [carrier[1], 60],
        [carrier[1], 0xffff_ffff],
      ] as const) {
        const damaged = Buffer.from(bytes);
        damaged.writeUInt32LE(length, at);
        await writeFile(segment.path, damaged);
        const journal = await openTestJournal(dir);
        const records = await readAll(journal);
        assert.ok(records.length >= 5);
        assert.ok(records.every(({ tenant }) => tenant === 1));
        await journal.close();
      }
    });
  });

  test("only the salt keeps such a payload out: a sender who knew it would get in", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir);
      const input = toFrameInput(journalInput({ tenant: 99 }));
      const salt = journal.segments[0]?.salt ?? 0;
      const forged = Buffer.alloc(frameBytesMax(input));
      const payload = forged.subarray(0, encodeFrame(forged, 0, input, 2, 1, 1, salt));
      await keep(journal, { payload });
      await journal.close();
      const { path } = journal.segments[0] as Segment;
      await overwrite(path, segmentHeadBytes, Buffer.alloc(4, 0xff));
      const again = await openTestJournal(dir);
      assert.equal(
        (await readAll(again)).map(({ tenant }) => tenant),
        [99],
      );
      await again.close();
    });
  });

  test("would-be heads cost a bounded time in a call, and all of them together one checksum of a head each", () => {
    // Every eighth byte begins a head that claims 8 KiB, as any device may send them.
    const buffer = Buffer.alloc(2 ** 20, Buffer.from([0x20, 0x20, 0, 0, 0x20, 0x20, 0, 0]));
    const rules = { salt: 77, after: 0, before: 1e9 };
    let calls = 0;
    for (let at = 0; at < buffer.length; calls++) {
      const part = buffer.subarray(at);
      const scan = scanRecords(part, part.length, true, rules);
      assert.equal(scan.offsets, []);
      assert.ok(scan.next > 0, "goes on");
      assert.ok(scan.next <= 16_384 * 8 + 64 || calls === 0, `${scan.next} bytes in one call`);
      at += scan.next;
    }
    assert.ok(calls >= buffer.length / (16_384 * 8), `${calls} calls`);
  });

  test("a segment that is gone or emptied is reported at the next start, also where nobody reads it any more", async () => {
    for (const harm of ["gone", "emptied"] as const) {
      await withTempDir(async (dir) => {
        const written = await write(dir, texts(100), 4000);
        const { path } = written.segments[2] as Segment;
        if (harm === "gone") await unlink(path);
        else await truncate(path, 0);
        const damages: Damage[] = [];
        const journal = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
        const last = written.records[2]?.at(-1)?.[0];
        assert.equal(damages.length, 1);
        assert.match(damages[0]?.what ?? "", new RegExp(`are gone, with records up to ${last}$`));
        await journal.close();
      });
    }
  });

  test("what was cut at one place at two starts is kept twice", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(3), 2 ** 26);
      const { path } = written.segments[0] as Segment;
      const third = written.records[0]?.[2] ?? [0, 0, 0];
      for (const text of ["first", "second"]) {
        await truncate(path, third[1]);
        await writeFile(path, text, { flag: "a" });
        const journal = await openTestJournal(dir);
        await journal.close();
      }
      assert.is(await readFile(`${path}.cut-${third[1]}`, "utf8"), "first");
      assert.is(await readFile(`${path}.cut-${third[1]}-2`, "utf8"), "second");
    });
  });

  test("a lost, a halved and an emptied segment are named, and the rest is read", async () => {
    for (const harm of ["lost", "halved", "emptied", "cut between records"] as const) {
      await withTempDir(async (dir) => {
        const written = await write(dir, texts(100), 4000);
        const middle = written.segments[2] as Segment;
        const records = written.records[2] ?? [];
        const half = segmentHeadBytes + Math.floor((middle.bytes - segmentHeadBytes) / 2);
        const boundary = records[Math.floor(records.length / 2)]?.[1] ?? 0;
        const end = { halved: half, emptied: segmentHeadBytes, "cut between records": boundary, lost: 0 }[
          harm
        ];
        if (harm === "lost") await unlink(middle.path);
        else await truncate(middle.path, end);
        const lost = records.filter(([, , to]) => to > end).map(([id]) => id);
        const { ids, damages } = await reread(dir);
        assert.equal(
          ids,
          written.records.flat().flatMap(([id]) => (lost.includes(id) ? [] : [id])),
          harm,
        );
        assert.equal(lostIDs(damages), lost, harm);
      });
    }
  });

  test("a damaged head is read from the file's name, and reported", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(60), 4000);
      for (const index of [0, 2, written.segments.length - 1]) {
        const { path } = written.segments[index] as Segment;
        for (const head of [Buffer.alloc(segmentHeadBytes), Buffer.alloc(3, 0xa5)]) {
          const right = (await readFile(path)).subarray(0, segmentHeadBytes);
          await overwrite(path, 0, head);
          const { ids, damages } = await reread(dir);
          assert.equal(
            ids,
            written.records.flat().map(([id]) => id),
            `segment ${index}`,
          );
          assert.match(
            damages.map(({ file, what }) => `${file}: ${what}`).join("\n"),
            `${path}: the head is damaged`,
          );
          await overwrite(path, 0, right);
        }
      }
      assert.not.ok((await readdir(dir)).some((name) => name.endsWith(".void")));
    });
  });

  test("where neither head nor name says how to read a file, it is quarantined and its records are named", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(60), 4000);
      const { path } = written.segments[1] as Segment;
      await overwrite(path, 0, Buffer.alloc(segmentHeadBytes));
      await rename(path, join(dir, "restored-by-hand.journal"));
      const { ids, damages } = await reread(dir);
      const lost = (written.records[1] ?? []).map(([id]) => id);
      assert.equal(
        ids,
        written.records.flat().flatMap(([id]) => (lost.includes(id) ? [] : [id])),
      );
      assert.equal(lostIDs(damages), lost);
      assert.ok(damages.some(({ what, lostBytes }) => /put aside/.test(what) && lostBytes > 0));
      assert.ok((await readdir(dir)).includes("restored-by-hand.journal.void"));
    });
  });

  test("a follower whose unread segments are gone learns which records it will never see", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(60), 4000);
      await unlink((written.segments[0] as Segment).path);
      const damages: Damage[] = [];
      const journal = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
      await readAll(journal, 3);
      const last = written.records[0]?.at(-1)?.[0] ?? 0;
      assert.equal(
        lostIDs(damages),
        Array.from({ length: last - 3 }, (_, i) => 4 + i),
      );
      await journal.close();
    });
  });

  test("the whole tail that is cut is kept beside, large ones and several of one segment too", async () => {
    await withTempDir(async (dir) => {
      await write(dir, texts(2), 2 ** 26);
      const path =
        (await readdir(dir)).filter((name) => name.endsWith(".journal")).map((name) => join(dir, name))[0] ??
        "";
      const tails: [number, Buffer][] = [];
      for (const size of [20_000_000, 333]) {
        const tail = Buffer.alloc(size, size % 251);
        const end = (await readFile(path)).length;
        tails.push([end, tail]);
        await writeFile(path, tail, { flag: "a" });
        const journal = await openTestJournal(dir);
        await keep(journal);
        await journal.close();
      }
      for (const [end, tail] of tails) assert.ok((await readFile(`${path}.cut-${end}`)).equals(tail));
      // They go with their segment.
      const journal = await openTestJournal(dir, { segmentBytesMax: 1 });
      await keep(journal);
      await journal.drop(journal.segments[0] as Segment);
      assert.not.ok((await readdir(dir)).some((name) => name.includes(".cut-")));
      await journal.close();
    });
  });
});

suite("a journal whose end is lost", (test) => {
  test("goes on with ids above all that has had an effect, and says once what is missing", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(20), 2 ** 26);
      const [segment] = written.segments;
      await truncate(segment?.path ?? "", written.records[0]?.[15]?.[1] ?? 0);
      const damages: Damage[] = [];
      const onDamage = (damage: Damage): void => {
        damages.push(damage);
      };
      const journal = await openTestJournal(dir, { onDamage });
      assert.is(journal.committedID, 15);
      assert.is(await journal.beginAbove(15), false);
      assert.is(await journal.beginAbove(20), true);
      const end = journal.committedID;
      assert.ok(end >= 20 && journal.appendedID === end);
      // A follower that had come to 20 has nothing to read, and then what is new.
      assert.equal(await readAll(journal, 20), []);
      const id = await keep(journal, { payload: Buffer.from("later") });
      assert.is(id, end + 1);
      assert.equal((await readAll(journal, 20)).map(textOf), ["later"]);
      assert.equal((await readAll(journal, 0)).length, 16);
      await journal.close();

      const again = await openTestJournal(dir, { onDamage });
      assert.is(await again.beginAbove(20), false);
      assert.is(await keep(again), id + 1);
      assert.equal((await readAll(again)).length, 17);
      await again.close();
      assert.equal(damages, [], "ids that were passed over on purpose are no further finding");
    });
  });

  test("also where the whole folder is lost, and where nothing is written before the next start", async () => {
    await withTempDir(async (dir) => {
      const damages: Damage[] = [];
      const onDamage = (damage: Damage): void => {
        damages.push(damage);
      };
      const first = await openTestJournal(dir, { onDamage });
      assert.is(await first.beginAbove(5_000_000, 2 ** 43 + 1), true);
      const end = first.committedID;
      assert.equal(await readAll(first), []);
      await first.close();
      const second = await openTestJournal(dir, { onDamage });
      assert.is(second.committedID, end);
      assert.is(await second.beginAbove(5_000_000), false);
      assert.is(await keep(second), end + 1);
      assert.is((await readAll(second)).length, 1);
      await second.close();
      assert.equal(damages, []);
    });
  });

  test("a whole record that is damaged at the end is no unfinished commit: it is reported, and its id is not given again", async () => {
    await withTempDir(async (dir) => {
      const written = await write(dir, texts(20), 2 ** 26);
      const { path } = written.segments[0] as Segment;
      const [id, from] = written.records[0]?.[19] ?? [0, 0];
      const bytes = await readFile(path);
      await overwrite(path, bytes.length - 1, Buffer.from([(bytes.at(-1) ?? 0) ^ 1]));
      const damages: Damage[] = [];
      const troubles: Error[] = [];
      const journal = await openTestJournal(dir, {
        onDamage: (damage) => damages.push(damage),
        onTrouble: (error) => troubles.push(error),
      });
      assert.match(damages.map(({ what }) => what).join(), /bytes at its end are damaged/);
      assert.equal(troubles, []);
      assert.ok((await keep(journal)) > id);
      assert.ok((await readFile(`${path}.cut-${from}`)).length > 0);
      assert.is((await readAll(journal)).length, 20);
      await journal.close();
    });
  });

  test("follows no id of another node", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(dir, { shard: 1 });
      assert.is(await journal.beginAbove(2 ** 43 * 2 + 5), false);
      assert.is(await keep(journal), 2 ** 43 + 1);
      await journal.close();
    });
  });
});

suite("segments of the first format", (test) => {
  /** A file as version 0.1 wrote it: no salt in head, name or checksums. */
  async function writeOld(
    dir: string,
    firstID: number,
    createdAt: number,
    payloads: readonly Buffer[],
  ): Promise<string> {
    const head = Buffer.alloc(segmentHeadBytes);
    head.write("TIDEJRNL", 0, "latin1");
    head.writeUInt32LE(1, 8);
    head.writeDoubleLE(firstID, 16);
    head.writeDoubleLE(createdAt, 24);
    head.writeUInt32LE(crc32c(head, 0, 60), 60);
    const records = payloads.map((payload, i) => {
      const input = toFrameInput(journalInput({ payload }));
      const buffer = Buffer.alloc(frameBytesMax(input));
      const at = createdAt * 1000 + i;
      return buffer.subarray(0, encodeFrame(buffer, 0, input, firstID + i, at, at, 0));
    });
    await mkdir(dir, { recursive: true });
    const path = join(dir, `${firstID.toString().padStart(16, "0")}-${createdAt.toString(36)}.journal`);
    await writeFile(path, Buffer.concat([head, ...records]));
    return path;
  }
  const year = Date.UTC(2026, 0, 1);
  const payloadsOf = async (journal: Journal): Promise<string[]> => (await readAll(journal)).map(textOf);

  test("are read as they are, and what is new goes to a segment of today's", async () => {
    await withTempDir(async (dir) => {
      const old = [...texts(5), ...texts(3)];
      await writeOld(dir, 1, year, old.slice(0, 5));
      const path = await writeOld(dir, 6, year + 1000, old.slice(5));
      const before = await readFile(path);
      const damages: Damage[] = [];
      const journal = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
      assert.is(await keep(journal, { payload: Buffer.from("new") }), 9);
      assert.equal(await payloadsOf(journal), [...old.map(String), "new"]);
      assert.ok((await readFile(path)).equals(before));
      await journal.close();
      const again = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
      assert.equal(await payloadsOf(again), [...old.map(String), "new"]);
      await again.close();
      assert.equal(damages, []);
    });
  });

  test("whose newest has a damaged length in its middle say so, and its ids are not given again", async () => {
    await withTempDir(async (dir) => {
      const path = await writeOld(dir, 1, year, texts(100));
      const [, from] = (await recordsOf(path))[40] ?? [0, 0];
      for (const length of [0xffff_ffff, 600_000]) {
        const copy = join(dir, String(length));
        await mkdir(copy);
        await copyFile(path, join(copy, basename(path)));
        const wrong = Buffer.alloc(4);
        wrong.writeUInt32LE(length);
        await overwrite(join(copy, basename(path)), from, wrong);
        const damages: Damage[] = [];
        const journal = await openTestJournal(copy, { onDamage: (damage) => damages.push(damage) });
        assert.match(damages.map(({ what }) => what).join(), /bytes at its end are damaged/);
        assert.ok((await keep(journal)) > 100);
        assert.is((await readAll(journal)).length, 41);
        await journal.close();
      }
    });
  });

  test("whose newest ends within a record were killed, and go on after it", async () => {
    await withTempDir(async (dir) => {
      const path = await writeOld(dir, 1, year, texts(20));
      await truncate(path, ((await recordsOf(path))[19]?.[2] ?? 0) - 1);
      const damages: Damage[] = [];
      const journal = await openTestJournal(dir, { onDamage: (damage) => damages.push(damage) });
      assert.is(await keep(journal), 20);
      assert.equal(damages, []);
      await journal.close();
    });
  });

  test("are followed by their lengths; what a damaged one hides is named, and no payload is searched", async () => {
    await withTempDir(async (dir) => {
      const inside = Buffer.alloc(400);
      const input = toFrameInput(journalInput({ tenant: 99, payload: Buffer.from("forged") }));
      encodeFrame(inside, 10, input, 3, 1, 1, 0);
      const payloads = [...texts(1), inside, ...texts(3)];
      const path = await writeOld(dir, 1, year, payloads);
      const [, second] = await recordsOf(path);
      await writeOld(dir, 6, year + 1000, texts(2));
      const length = Buffer.alloc(4, 0xff);
      await overwrite(path, second?.[1] ?? 0, length);
      const { ids, damages } = await reread(dir);
      assert.equal(ids, [1, 6, 7]);
      assert.equal(lostIDs(damages), [2, 3, 4, 5]);
    });
  });
});

suite("stamps of a journal", (test) => {
  test("follow a clock that was ahead for a moment, through restarts and new segments, and never repeat", async () => {
    await withTempDir(async (dir) => {
      const start = Date.UTC(2026, 4, 1);
      let now = start;
      const hour = 3_600_000;
      const given: number[] = [];
      const run = async (times: readonly number[], segmentBytesMax: number): Promise<void> => {
        const journal = await openTestJournal(dir, { now: () => now, segmentBytesMax });
        for (const time of times) {
          now = time;
          for (let i = 0; i < 3; i++) await keep(journal);
          const stamp = (await readAll(journal, journal.committedID - 1))[0]?.stamp ?? 0;
          assert.ok(stamp >= now * 1000 && stamp - now * 1000 <= 1e6, `${stamp - now * 1000} µs ahead`);
        }
        await journal.close();
        const all = (await readAll(journal)).map(({ stamp }) => stamp);
        given.splice(0, given.length, ...all);
      };
      const minutes = (from: number): number[] => Array.from({ length: 4 }, (_, i) => from + i * 60_000);
      for (const bytes of [1, 2 ** 26]) {
        await run(minutes(now + hour), bytes);
        await run([...minutes(now + 6 * hour), ...minutes(now + 60_000)], bytes);
        await run(minutes(now), bytes);
        await run(minutes(now + 6 * hour), bytes);
      }
      assert.is(new Set(given).size, given.length);
    });
  });

  test("go on after every segment where their saved state is damaged, and that is reported", async () => {
    await withTempDir(async (dir) => {
      await write(dir, texts(20), 1000);
      await overwrite(join(dir, "stamps.json"), 12, Buffer.from("7"));
      const { damages } = await reread(dir);
      assert.match(damages.map(({ file, what }) => `${file} ${what}`).join(), /stamps\.json cannot be read/);
    });
  });
});

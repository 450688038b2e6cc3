import { once } from "node:events";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { zoneVersionWarning } from "../../../store/time-zones/age.js";
import { openZoneFolder } from "../../../store/time-zones/folder.js";
import { useTimeZones } from "../../../store/time-zones/in-use.js";
import { packedTimeZones } from "../../../store/time-zones/packed.js";
import { computeRulesFingerprint } from "../../../store/time-zones/rules.js";
import type { TimeZones } from "../../../store/time-zones/time-zones.js";
import { readTzif } from "../../../store/time-zones/tzif.js";
import { oracle, testWithOracle } from "../../query/zone-oracle.js";
import { assert, suite, withTempDir } from "../../suite.js";
import { tzif } from "./tzif.js";

function all(zones: TimeZones): Record<string, { changes: number[]; offsets: number[] }> {
  return Object.fromEntries(
    zones.names.map((name) => {
      const { changes = [], offsets = [] } = zones.rules(name) ?? {};
      return [name, { changes: [...changes], offsets: [...offsets] }];
    }),
  );
}

suite("rules of time zones", (test) => {
  testWithOracle(
    test,
    "those that ship are Python's, of the same release, for all zones from 1684 to 2255",
    () => {
      const { version, names } = oracle.about();
      const zones = packedTimeZones();
      assert.is(zones.version, version);
      assert.equal(zones.names, names.filter((name) => name !== "Factory").sort());
      assert.equal(oracle.differences(all(zones)), {});
    },
  );

  testWithOracle(test, "those of a zoneinfo folder are the same, with the release that it names", () => {
    const { version, folder, names } = oracle.about();
    const zones = openZoneFolder(folder);
    assert.equal([zones.version, zones.folder, zones.names.length], [version, folder, names.length - 1]);
    assert.equal(all(zones), all(packedTimeZones()));
    const [link, target] = [zones.rules("PRC"), packedTimeZones().rules("Asia/Shanghai")];
    assert.ok(link !== undefined && target !== undefined);
    assert.is(computeRulesFingerprint(link), computeRulesFingerprint(target));
  });

  test("rules that recur are written out from the footer of a file", () => {
    const changes = (footer: string, from: number) => {
      const { changes, offsets } = readTzif("X", tzif({ footer }));
      const i = changes.findIndex((at) => at >= from);
      return [0, 1].map((next) => [
        new Date((changes[i + next] ?? 0) * 1000).toISOString(),
        offsets[i + next + 1],
      ]);
    };
    const in2026 = Date.UTC(2026, 0, 1) / 1000;
    assert.equal(changes("EST5EDT,M3.2.0,M11.1.0", in2026), [
      ["2026-03-08T07:00:00.000Z", -14_400],
      ["2026-11-01T06:00:00.000Z", -18_000],
    ]);
    // Examples of RFC 9636: midnight of another day, summer time that is behind standard time.
    assert.equal(changes("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", in2026), [
      ["2026-03-29T01:00:00.000Z", -7200],
      ["2026-10-25T01:00:00.000Z", -10_800],
    ]);
    assert.equal(changes("IST-2IDT,M3.4.4/26,M10.5.0", in2026), [
      ["2026-03-27T00:00:00.000Z", 10_800],
      ["2026-10-24T23:00:00.000Z", 7200],
    ]);
    assert.equal(changes("IST-1GMT0,M10.5.0,M3.5.0/1", in2026), [
      ["2026-03-29T01:00:00.000Z", 3600],
      ["2026-10-25T01:00:00.000Z", 0],
    ]);
    // Days of the year: J60 is the first of March, 59 the last of February in a leap year.
    assert.equal(changes("<+01>-1<+02>,J60/0,J300/0", Date.UTC(2028, 0, 1) / 1000)[0], [
      "2028-02-29T23:00:00.000Z",
      7200,
    ]);
    assert.equal(changes("<+01>-1<+02>,59/0,299/0", Date.UTC(2028, 0, 1) / 1000)[0], [
      "2028-02-28T23:00:00.000Z",
      7200,
    ]);
  });

  test("summer time all year has no changes", () => {
    const { changes, offsets } = readTzif("X", tzif({ footer: "EST5EDT,0/0,J365/25", offsets: [-14_400] }));
    const [from, to] = [Date.UTC(1972, 0, 1) / 1000, Date.UTC(2490, 0, 1) / 1000];
    const first = changes.findIndex((at) => at >= from);
    assert.ok((changes[first] ?? Number.POSITIVE_INFINITY) > to);
    assert.is(offsets[first], -14_400);
  });

  test("transitions that keep the offset are none", () => {
    const bytes = tzif({ times: [100, 200, 300], indices: [1, 2, 0], offsets: [0, 3600, 3600] });
    const { changes, offsets } = readTzif("X", bytes);
    assert.equal(
      [[...changes], [...offsets]],
      [
        [100, 300],
        [0, 3600, 0],
      ],
    );
  });

  test("files that cannot be read say why", () => {
    const whole = tzif({ times: [100], indices: [1], offsets: [0, 3600] });
    for (let end = 0; end < whole.length; end++) {
      assert.throws(() => readTzif("X", whole.subarray(0, end)), /cannot read the rules of X/, `${end}`);
    }
    assert.throws(() => readTzif("X", tzif({ version: "\0" })), /version 2 or later/);
    assert.throws(() => readTzif("X", tzif({ leaps: 1 })), /leap seconds/);
    for (const footer of ["UTC", "5", "EST5EDT,M3.2.0", "EST5EDT,M3.2.0,M11.1.0,M1.1.1", "EST5EDT,X,Y"]) {
      assert.throws(() => readTzif("X", tzif({ footer })), /footer/, footer);
    }
  });

  test("a folder: links, folders of copies, files of something else, its version", () =>
    withTempDir(async (folder) => {
      assert.throws(() => openZoneFolder(folder), /is no zoneinfo folder/);
      assert.throws(() => openZoneFolder(join(folder, "none")), /is no zoneinfo folder/);
      await writeFile(join(folder, "UTC"), tzif({}));
      await mkdir(join(folder, "Asia"));
      await mkdir(join(folder, "right"));
      await writeFile(join(folder, "Asia/Shanghai"), tzif({ offsets: [28_800], footer: "CST-8" }));
      await writeFile(join(folder, "right/UTC"), tzif({ leaps: 1 }));
      await writeFile(join(folder, "zone.tab"), "text");
      await symlink("Asia/Shanghai", join(folder, "PRC"));
      await symlink(folder, join(folder, "Asia/again"));
      await symlink("nowhere", join(folder, "Gone"));
      const zones = openZoneFolder(folder);
      assert.is(zones.version, null);
      assert.equal(
        zones.names.filter((name) => !name.includes("again")),
        ["Asia/Shanghai", "PRC", "UTC"],
      );
      assert.equal([...(zones.rules("prc")?.offsets ?? [])], [28_800]);
      assert.is(zones.rules("Europe/Berlin"), undefined);
      await writeFile(join(folder, "+VERSION"), "2027a\n");
      assert.is(openZoneFolder(folder).version, "2027a");
      await writeFile(join(folder, "tzdata.zi"), "# version 2027b\nR A\n");
      assert.is(openZoneFolder(folder).version, "2027b");
      await writeFile(join(folder, "Asia/Shanghai"), tzif({}).subarray(0, 100));
      assert.throws(() => openZoneFolder(folder), /Asia\/Shanghai: it is cut off/);
    }));

  test("threads go by the rules of the process that has started them", () =>
    withTempDir(async (folder) => {
      await writeFile(join(folder, "UTC"), tzif({}));
      await writeFile(join(folder, "Mars"), tzif({ offsets: [2370], footer: "" }));
      const offsetInThread = async (name: string) => {
        const thread = new Worker(new URL("./in-use.worker.js", import.meta.url), { workerData: name });
        return (await once(thread, "message"))[0] as number;
      };
      useTimeZones(openZoneFolder(folder));
      await rm(join(folder, "Mars"));
      assert.is(await offsetInThread("Mars"), 2_370_000);
      useTimeZones(packedTimeZones());
      assert.is(await offsetInThread("Asia/Shanghai"), 28_800_000);
    }));

  test("a release is old a year after it has come out", () => {
    const at = (text: string) => Date.parse(text);
    assert.is(zoneVersionWarning("2026f", at("2027-10-29")), null);
    assert.match(zoneVersionWarning("2026f", at("2027-11-01")) ?? "", "2026f, which is more than a year old");
    assert.match(zoneVersionWarning("2025b", at("2026-11-27")) ?? "", "2025b");
    assert.is(zoneVersionWarning("2027c", at("2028-12-31")), null);
    assert.match(zoneVersionWarning("2027c", at("2029-01-02")) ?? "", "2027c");
    for (const version of [null, "mine"]) assert.match(zoneVersionWarning(version, 0) ?? "", "not known");
  });

  test("the release that ships has its date", () => {
    const version = packedTimeZones().version ?? "";
    const yearAfter = Date.UTC(Number(version.slice(0, 4)) + 2, 0, 1);
    assert.is.not(zoneVersionWarning(version, yearAfter), null, "add it to store/time-zones/age.ts");
  });
});

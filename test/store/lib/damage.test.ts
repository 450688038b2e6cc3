import { createDamageLog, type Damage } from "../../../store/files/damage.js";
import { assert, suite } from "../../suite.js";

suite("damage log", (test) => {
  const finding = (n: number): Damage => ({ part: "journal", file: "f", what: `place ${n}`, lostBytes: 10 });

  test("reports and counts each finding once, by part", () => {
    const told: string[] = [];
    const log = createDamageLog(({ what }) => told.push(what));
    for (const n of [1, 2, 1, 2, 1]) log.report(finding(n));
    log.report({ ...finding(1), part: "series", file: "g" });
    assert.equal(told, ["place 1", "place 2", "place 1"]);
    assert.equal(
      [...log.counts],
      [
        ["journal", { findings: 2, lostBytes: 20 }],
        ["series", { findings: 1, lostBytes: 10 }],
      ],
    );
  });

  test("a flood of findings is reported up to a bound, and that there are more; repetitions add nothing", () => {
    const told: string[] = [];
    const log = createDamageLog(({ what }) => told.push(what));
    for (let round = 0; round < 3; round++) for (let n = 0; n < 10_500; n++) log.report(finding(n));
    assert.is(told.length, 10_001);
    assert.match(told.at(-1) ?? "", /more damage/);
    assert.is(log.counts.get("journal")?.findings, 10_000);
  });
});

import { startWills } from "../../../ingest/sessions/wills.js";
import { createWorkBudget, workMax } from "../../../ingest/uplinks/work-budget.js";
import { assert, suite, until } from "../../suite.js";

suite("wills of many connections that end together", (test) => {
  for (const cost of [0, workMax]) {
    test(`go by turns, each once, ${cost === 0 ? "light ones" : "those that reach many filters one at a time"}`, async () => {
      const count = cost === 0 ? 2000 : 20;
      const due = new Map(
        Array.from({ length: count }, (_, i) => [
          i,
          { tenant: 1, device: i, connection: i, will: { topic: "t" } },
        ]),
      );
      const given: number[] = [];
      let most = 0;
      let underWay = 0;
      const wills = startWills({
        registry: { dueWills: () => [...due.values()] as never, publishCost: () => cost },
        records: {
          publishWill: ({ connection }, _refused, done) => {
            given.push(connection);
            most = Math.max(most, ++underWay);
            // Its commit.
            setTimeout(() => {
              underWay--;
              due.delete(connection);
              done();
            }, 1);
          },
        },
        work: createWorkBudget(),
        refuses: () => Promise.resolve(false),
        now: Date.now,
        onTrouble: (error) => assert.unreachable(error.message),
      });
      wills.look();
      await until(() => due.size === 0, { what: "every will" });
      wills.close();
      assert.equal(
        given.toSorted((a, b) => a - b),
        Array.from({ length: count }, (_, i) => i),
      );
      assert.ok(most <= (cost === 0 ? 500 : 1), `${most} at once`);
    });
  }

  test("those of one tenant leave places to another's; none is written after the end", async () => {
    const heavy = Array.from({ length: 1000 }, (_, i) => ({
      tenant: 1,
      device: i,
      connection: i,
      will: { topic: "t" },
    }));
    const light = { tenant: 2, device: 5000, connection: 5000, will: { topic: "t" } };
    const given: number[] = [];
    const work = createWorkBudget();
    work.take(3, workMax);
    const wills = startWills({
      registry: {
        dueWills: () => [...heavy, light] as never,
        publishCost: (device) => (device === light.device ? 0 : workMax),
      },
      records: { publishWill: ({ connection }) => void given.push(connection) },
      work,
      refuses: () => Promise.resolve(false),
      now: Date.now,
      onTrouble: (error) => assert.unreachable(error.message),
    });
    wills.look();
    await until(() => given.length > 0, { what: "the light one" });
    assert.equal(given, [light.connection]);
    wills.close();
    work.give(3, workMax);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(given, [light.connection]);
    assert.ok(work.take(3, workMax), "all that was taken has been given back");
  });
});

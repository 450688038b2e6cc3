import fc from "fast-check";
import { createTaskQueue } from "../../src/tasks/queue.js";
import { assert, suite } from "../suite.js";

interface Job {
  readonly tenant: number;
  readonly lane?: string;
  readonly name: string;
  readonly kind: string;
  readonly apart?: number;
}

const queueOf = (max: number) =>
  createTaskQueue<Job>(max, ({ lane, apart }) => ({
    ...(lane ? { lane } : {}),
    ...(apart ? { apart } : {}),
  }));
const jobs = (tenant: number, count: number, lane?: string): Job[] =>
  Array.from({ length: count }, (_, i) => ({
    tenant,
    kind: "work",
    name: `${tenant}.${i}`,
    ...(lane ? { lane } : {}),
  }));

suite("which task runs next", (test) => {
  test("one tenant leaves a place to others, in whatever order they came", () => {
    const queue = queueOf(4);
    for (const job of jobs(1, 10)) queue.add(job);
    const begun = [queue.next(), queue.next(), queue.next(), queue.next()];
    assert.equal(
      begun.map((job) => job?.name),
      ["1.0", "1.1", "1.2", undefined],
    );
    for (const job of jobs(2, 1)) queue.add(job);
    assert.is(queue.next()?.name, "2.0");
    assert.is(queue.next(), undefined);
    assert.equal([queue.countOf(1), queue.countOf(2)], [10, 1]);
  });

  test("those apart run beside the others, one of a tenant", () => {
    const queue = queueOf(4);
    for (const job of jobs(1, 4)) queue.add(job);
    const apart = (tenant: number, name: string): Job => ({ tenant, name, kind: "apart", apart: 2 });
    for (const job of [apart(1, "a"), apart(1, "b"), apart(2, "c"), apart(3, "d")]) queue.add(job);
    const begun = Array.from({ length: 6 }, () => queue.next());
    const names = () => begun.map((job) => job?.name).sort();
    assert.equal(names(), ["1.0", "1.1", "1.2", "c", "d", undefined]);
    const ended = begun.find((job) => job?.name === "c");
    assert.ok(ended);
    queue.ended(ended);
    assert.is(queue.next()?.name, "a");
  });

  test("in a lane, tenants take turns: a late one waits for one task of an early one, not for all", () => {
    const queue = queueOf(4);
    for (const job of jobs(1, 5, "history")) queue.add(job);
    const first = queue.next();
    assert.is(queue.next(), undefined, "one of a lane runs at a time");
    for (const job of jobs(2, 2, "history")) queue.add(job);
    const order = [first];
    for (let running = first; running !== undefined; ) {
      queue.ended(running);
      running = queue.next();
      if (running !== undefined) order.push(running);
    }
    assert.equal(
      order.map((job) => job?.name),
      ["1.0", "2.0", "1.1", "2.1", "1.2", "1.3", "1.4"],
    );
  });

  test("each task runs once, those of one tenant and lane in order, never too many", () => {
    const job = fc.record({ tenant: fc.nat(3), lane: fc.constantFrom("a", "b", undefined) });
    fc.assert(
      fc.property(fc.array(job, { maxLength: 40 }), fc.array(fc.nat(9), { maxLength: 80 }), (made, steps) => {
        const queue = queueOf(4);
        const all = made.map(
          ({ tenant, lane }, i): Job => ({ tenant, kind: "work", name: `${i}`, ...(lane ? { lane } : {}) }),
        );
        for (const one of all) queue.add(one);
        const running: Job[] = [];
        const begun: Job[] = [];
        const fill = (): void => {
          for (let next = queue.next(); next !== undefined; next = queue.next()) {
            running.push(next);
            begun.push(next);
          }
          assert.ok(running.length <= 4);
          const lanes = running.flatMap(({ lane }) => (lane === undefined ? [] : [lane]));
          assert.is(new Set(lanes).size, lanes.length);
        };
        fill();
        for (const step of [...steps, ...all.map(() => 0)]) {
          const [done] = running.splice(step % Math.max(1, running.length), 1);
          if (done !== undefined) queue.ended(done);
          fill();
        }
        assert.equal(begun.map(({ name }) => name).sort(), all.map(({ name }) => name).sort());
        for (const tenant of [0, 1, 2, 3]) {
          for (const lane of ["a", "b", undefined]) {
            const of = begun
              .filter((one) => one.tenant === tenant && one.lane === lane)
              .map(({ name }) => +name);
            assert.equal(
              of,
              [...of].sort((a, b) => a - b),
            );
          }
        }
      }),
    );
  });
});

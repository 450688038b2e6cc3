import { createQuerySemaphore } from "../../../store/series/query-semaphore.js";
import { assert, rejects, suite } from "../../suite.js";

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

/** Queries that run until they are ended by hand, in the order in which they began. */
function asking(max: number) {
  const slots = createQuerySemaphore(max);
  const running: { tenant: number; end: () => void }[] = [];
  const began: number[] = [];
  const ask = (tenant: number, signal: AbortSignal | null = null): Promise<void> => {
    const answer = slots.answer({ tenant, signal }, async function* () {
      began.push(tenant);
      await new Promise<void>((end) => running.push({ tenant, end }));
      yield 1;
    });
    return (async () => {
      for await (const _ of answer);
    })();
  };
  const endOne = async (tenant: number): Promise<void> => {
    const at = running.findIndex((one) => one.tenant === tenant);
    running.splice(at, 1)[0]?.end();
    await turns();
  };
  const count = (tenant: number) => running.filter((one) => one.tenant === tenant).length;
  return { ask, endOne, count, began, running };
}

suite("query slots", (test) => {
  test("a tenant alone has nearly all; who comes then need not wait for it", async () => {
    const { ask, endOne, count } = asking(12);
    const all = Array.from({ length: 40 }, () => ask(1));
    await turns();
    assert.is(count(1), 10);
    all.push(ask(2));
    await turns();
    assert.is(count(2), 1);
    for (let left = 40; left > 0; left--) await endOne(1);
    assert.is(count(1), 0);
    await endOne(2);
    await Promise.all(all);
  });

  test("tenants that wait take turns, none is left far behind", async () => {
    const { ask, endOne, count, began } = asking(12);
    const all = [...Array.from({ length: 100 }, () => ask(1)), ...Array.from({ length: 100 }, () => ask(2))];
    await turns();
    for (let i = 0; i < 30; i++) await endOne(i % 2 === 0 && count(1) > 0 ? 1 : count(2) > 0 ? 2 : 1);
    assert.ok(Math.min(count(1), count(2)) >= 3, `${count(1)} and ${count(2)}`);
    while (count(1) + count(2) > 0) await endOne(count(1) > count(2) ? 1 : 2);
    await Promise.all(all);
    assert.is(began.filter((tenant) => tenant === 1).length, 100);
  });

  test("who leaves while waiting begins nothing, and leaves no place behind", async () => {
    const { ask, endOne, count, began } = asking(1);
    const first = ask(1);
    const leaver = new AbortController();
    const gone = ask(2, leaver.signal);
    const next = ask(3);
    await turns();
    assert.equal(began, [1]);
    leaver.abort();
    await rejects(() => gone, /left/);
    await rejects(() => ask(4, leaver.signal), /left/);
    await endOne(1);
    assert.equal(began, [1, 3]);
    await endOne(3);
    await Promise.all([first, next]);
    const again = ask(2);
    await turns();
    assert.is(count(2), 1);
    await endOne(2);
    await again;
  });

  test("a question that fails, or is not read to its end, gives its place back", async () => {
    const slots = createQuerySemaphore(1);
    const failing = slots.answer({ tenant: 1, signal: null }, async function* (): AsyncGenerator<number> {
      yield 1;
      throw new Error("failed");
    });
    await rejects(async () => {
      for await (const _ of failing);
    }, /failed/);
    for await (const _ of slots.answer({ tenant: 1, signal: null }, endless)) break;
    const last = await slots.answer({ tenant: 2, signal: null }, endless).next();
    assert.is(last.value, 0);
  });
});

async function* endless(): AsyncGenerator<number> {
  for (let i = 0; ; i++) yield i;
}

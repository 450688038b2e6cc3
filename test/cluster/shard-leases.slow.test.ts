/** Nodes over one file of metadata: who gets which shard when nodes come, die, pause, stop, and lose the metadata. */
import { takeNumber } from "../../store/metadata/cluster/cluster-nodes.js";
import { freeShard, takeShard } from "../../store/metadata/cluster/shard-owners.js";
import { assert, openTempDir, rejects, suite, until } from "../suite.js";
import { type LeaseNodes, openLeaseNodes, type TestNode } from "./lease-nodes.js";

const shards = 6;
const beatMs = 2000;
/** What two nodes have, once they have come to rest. */
const halves = [
  [0, 1, 2],
  [3, 4, 5],
] as const;

suite("leases of shards", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let nodes: LeaseNodes;
  test.before.each(async () => {
    dir = await openTempDir();
    nodes = await openLeaseNodes(dir.path, shards, [1, 2, 3]);
  });
  test.after.each(async () => {
    await nodes.close();
    await dir.close();
  });

  const holders = (node: TestNode) =>
    Array.from({ length: shards }, (_, shard) => node.leases.holderOf(shard));
  const opened = (node: TestNode) => [...node.open].toSorted();
  const counts = (rows: readonly (number | null)[]) =>
    [1, 2, 3].map((number) => rows.filter((one) => one === number).length);
  const callsOf = (node: TestNode, name: string) => node.calls.filter((call) => call.startsWith(name));

  /** Nodes 1 and 2, with three shards each. */
  async function startTwo(): Promise<[TestNode, TestNode]> {
    const one = await nodes.start(1);
    const two = await nodes.start(2);
    await nodes.pass(4 * beatMs);
    assert.equal(counts(await nodes.rows()), [3, 3, 0]);
    return [one, two];
  }

  test("the first node takes all shards, at most two at a time", async () => {
    const one = await nodes.start(1);
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
    assert.equal(holders(one), [1, 1, 1, 1, 1, 1]);
    assert.equal(await nodes.rows(), [1, 1, 1, 1, 1, 1]);
    assert.equal(one.lines, []);
  });

  test("a shard that is on its way is nobody's, and no more than two are on their way", async () => {
    const one = await nodes.begin(1, "one");
    const ends: (() => void)[] = [];
    for (let shard = 0; shard < shards; shard++)
      one.faults.set(`take ${shard}`, () => new Promise((resolve) => ends.push(resolve)));
    await nodes.settle();
    assert.equal([one.calls, holders(one).every((holder) => holder === null)], [["take 0", "take 1"], true]);
    ends.shift()?.();
    await nodes.settle();
    assert.equal([one.calls.length, one.leases.holderOf(0), one.leases.holderOf(1)], [3, 1, null]);
    await nodes.pass(5 * beatMs);
    assert.is(one.calls.length, 3, "looks begin nothing again");
    for (let shard = 1; shard < shards; shard++) {
      ends.shift()?.();
      await nodes.settle();
    }
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
  });

  test("a node that joins is given its share, one shard at a time, and then nothing moves", async () => {
    const one = await nodes.start(1);
    const two = await nodes.start(2);
    assert.equal(opened(two), []);
    assert.equal(holders(two), [1, 1, 1, 1, 1, 1]);
    await nodes.pass(beatMs);
    assert.equal(callsOf(one, "give"), ["give 3"]);
    await nodes.pass(4 * beatMs);
    assert.equal([opened(one), opened(two)], halves);
    assert.equal(
      [holders(one), holders(two)],
      [
        [1, 1, 1, 2, 2, 2],
        [1, 1, 1, 2, 2, 2],
      ],
    );
    const before = [...one.calls, ...two.calls];
    await nodes.pass(10 * beatMs);
    assert.equal([...one.calls, ...two.calls], before);
  });

  test("the row is freed once the shard is closed, and not before", async () => {
    const one = await nodes.start(1);
    let close = (): void => undefined;
    one.faults.set("give 3", () => new Promise((resolve) => (close = resolve)));
    const two = await nodes.start(2);
    await nodes.pass(5 * beatMs);
    assert.equal([callsOf(one, "give"), one.leases.holderOf(3), two.calls], [["give 3"], null, []]);
    assert.is((await nodes.rows())[3], 1);
    assert.equal(one.freed, []);
    close();
    await nodes.settle();
    assert.equal([(await nodes.rows())[3], one.freed], [null, [3]]);
    await two.leases.refresh();
    await nodes.settle();
    assert.equal(two.calls, ["take 3"], "it looks when it is notified");
  });

  test("the shards of a node that dies go to the others once it has not beaten for 6 s", async () => {
    const [one, two] = await startTwo();
    const three = await nodes.start(3);
    await nodes.pass(6 * beatMs);
    assert.equal(counts(await nodes.rows()), [2, 2, 2]);
    const lost = opened(two);
    two.isPaused = true;
    await nodes.pass(2 * beatMs);
    assert.equal(counts(await nodes.rows()), [2, 2, 2], "it may come again");
    assert.is(one.leases.holderOf(lost[0] ?? -1), 2);
    await nodes.pass(2 * beatMs);
    assert.equal(counts(await nodes.rows()), [3, 0, 3]);
    assert.equal([...opened(one), ...opened(three)].toSorted(), [0, 1, 2, 3, 4, 5]);
    assert.equal(
      [callsOf(one, "give").length, callsOf(three, "give").length],
      [4, 0],
      "only what was 2's has moved",
    );
  });

  test("a node that has just come waits 6 s before it takes another for dead, unless that is none of the cluster", async () => {
    const dead = { number: 2, owner: "killed" };
    const foreign = { number: 9, owner: "of an earlier list" };
    for (const node of [dead, foreign]) await takeNumber(nodes.db, node, null);
    for (let shard = 0; shard < 4; shard++)
      await takeShard(nodes.db, shard, { to: dead, from: null, now: 0 });
    for (const shard of [4, 5]) await takeShard(nodes.db, shard, { to: foreign, from: null, now: 0 });
    const one = await nodes.start(1);
    assert.equal(holders(one), [2, 2, 2, 2, 1, 1]);
    await nodes.pass(2 * beatMs);
    assert.equal(holders(one), [2, 2, 2, 2, 1, 1]);
    await nodes.pass(beatMs);
    assert.equal(holders(one), [1, 1, 1, 1, 1, 1]);
  });

  test("an orderly stop hands over one shard after the other, all within a beat of the others", async () => {
    const [one, two] = await startTwo();
    const order: number[] = [];
    for (const shard of two.open)
      two.faults.set(`give ${shard}`, async () => {
        assert.equal(opened(two).length, 3 - order.length, "one at a time");
        order.push(shard);
      });
    await two.leases.close();
    await two.leases.close();
    assert.equal(order, [3, 4, 5]);
    assert.equal(opened(two), []);
    assert.equal(await nodes.db.all("select number from cluster_node"), [{ number: 1 }]);
    await nodes.pass(beatMs);
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
    assert.equal([...one.lines, ...two.lines], []);
  });

  test("a shard is given once the node that is to have it has copied it, however long that takes, and is open until then", async () => {
    const one = await nodes.start(1);
    one.notCopied.add(3);
    const two = await nodes.start(2);
    await nodes.pass(5 * beatMs);
    const asked = callsOf(one, "ahead").filter((call) => call === "ahead 3");
    assert.ok(asked.length > 1, asked.join());
    assert.equal(
      [callsOf(one, "give"), holders(two)],
      [
        ["give 4", "give 5"],
        [1, 1, 1, 1, 2, 2],
      ],
    );
    one.notCopied.clear();
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one), opened(two)], halves);
    const moved = one.calls.filter((call) => /^(ahead|give) 3$/.test(call));
    assert.equal(moved, [...asked, "ahead 3", "give 3"]);
  });

  test("a shard whose copy never ends keeps those that other nodes are to have from none of them", async () => {
    const one = await nodes.start(1);
    one.notCopied.add(2);
    await nodes.start(2);
    await nodes.start(3);
    await nodes.pass(10 * beatMs);
    assert.equal(opened(one), [0, 1, 2], "what 2 and 3 have copied is theirs");
  });

  test("a node knows which shards of others are to be its own", async () => {
    const one = await nodes.start(1);
    one.notCopied.add(3);
    const two = await nodes.start(2);
    const asked = (node: TestNode) =>
      Promise.all(Array.from({ length: shards }, (_, shard) => node.leases.isToGet(shard)));
    assert.equal(await asked(two), ["no", "no", "no", "now", "now", "now"]);
    assert.equal(await asked(one), ["no", "no", "no", "no", "no", "no"]);
    two.isCutOff = true;
    assert.equal((await asked(two)).includes("now"), false, "it could not take them");
  });

  test("a node knows which shards it has if another dies, but none whose files it still uses, or that it could not take", async () => {
    const [one, two] = await startTwo();
    assert.equal([one.leases.successions(), two.leases.successions()], [opened(two), opened(one)]);
    two.isCutOff = true;
    await nodes.pass(beatMs);
    assert.equal(two.leases.successions(), []);
    two.isCutOff = false;
    await nodes.pass(beatMs);
    two.isAble = false;
    assert.equal(two.leases.successions(), []);
    two.isAble = true;
    let close = (): void => undefined;
    two.faults.set("lost 3", () => new Promise((resolve) => (close = resolve)));
    two.isPaused = true;
    await nodes.pass(20_000);
    // It is paused so that none of them is given back before.
    one.isPaused = true;
    two.isPaused = false;
    await nodes.pass(500);
    assert.equal(two.leases.successions(), [0, 1, 2, 4, 5], "3 is still being closed here");
    close();
    await nodes.settle();
    assert.equal(two.leases.successions(), [0, 1, 2, 3, 4, 5]);
  });

  test("a node that stops has the next shard copied while it closes one, and gives in the end what is not copied", async () => {
    const [one, two] = await startTwo();
    two.calls.length = 0;
    let close = (): void => undefined;
    two.faults.set("give 3", () => new Promise((resolve) => (close = resolve)));
    two.notCopied.add(5);
    const closed = two.leases.close();
    await nodes.settle();
    assert.equal(two.calls, ["ahead 3", "ahead 4", "give 3"]);
    close();
    await until(() => callsOf(two, "ahead 5").length > 1, { what: "another question about the last" });
    assert.equal([callsOf(two, "give"), opened(two)], [["give 3", "give 4"], [5]]);
    await nodes.pass(6 * beatMs);
    await closed;
    await nodes.pass(beatMs);
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
  });

  test("a node that stops while a shard of its own is copied elsewhere does not wait for that, nor asks where nobody is left", async () => {
    const one = await nodes.start(1);
    one.faults.set("ahead 3", () => new Promise(() => undefined));
    const two = await nodes.start(2);
    await nodes.pass(beatMs);
    assert.equal(callsOf(one, "ahead"), ["ahead 3"]);
    await two.leases.close();
    await one.leases.refresh();
    await one.leases.close();
    assert.equal([callsOf(one, "ahead").length, callsOf(one, "give").length], [1, 6]);
  });

  test("a node that cannot reach the brokers as it stops closes all shards at once, also from the midst on", async () => {
    const [one, two] = await startTwo();
    const order: string[] = [];
    const closes: (() => void)[] = [];
    for (const shard of two.open)
      two.faults.set(`give ${shard}`, () => {
        order.push(`give ${shard}`);
        return new Promise((resolve) => closes.push(resolve));
      });
    const closed = two.leases.close();
    await nodes.settle();
    two.isAble = false;
    assert.equal(order, ["give 3"]);
    closes.shift()?.();
    await nodes.settle();
    assert.equal(order, ["give 3", "give 4", "give 5"]);
    for (const close of closes) close();
    await closed;
    await nodes.pass(beatMs);
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
  });

  test("a stop that takes long is no death: what is not given yet is left to the node that stops", async () => {
    const [one, two] = await startTwo();
    let close = (): void => undefined;
    two.faults.set("give 4", () => new Promise((resolve) => (close = resolve)));
    const closed = two.leases.close();
    await nodes.settle();
    await nodes.pass(5 * beatMs);
    assert.equal(
      [opened(one), opened(two)],
      [
        [0, 1, 2, 3],
        [4, 5],
      ],
      "3 has been given, 4 is under way",
    );
    assert.equal([one.leases.holderOf(5), two.leases.holderOf(5)], [2, 2]);
    close();
    await closed;
    await nodes.pass(beatMs);
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
  });

  test("a stop that the metadata missed at first is said again: nobody waits for the node that stops", async () => {
    const [one, two] = await startTwo();
    let close = (): void => undefined;
    two.faults.set("give 3", () => new Promise((resolve) => (close = resolve)));
    two.isCutOff = true;
    const closed = two.leases.close();
    await nodes.settle();
    two.isCutOff = false;
    await nodes.pass(2 * beatMs);
    two.faults.set("give 4", () => new Promise((resolve) => (close = resolve)));
    close();
    await nodes.settle();
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one), callsOf(one, "give").length], [[0, 1, 2, 3], 3]);
    close();
    await closed;
  });

  test("the last node to stop leaves all shards free", async () => {
    const one = await nodes.start(1);
    await one.leases.close();
    assert.equal(await nodes.rows(), [null, null, null, null, null, null]);
    assert.equal(await nodes.db.all("select number from cluster_node"), []);
    const again = await nodes.start(1, "another process of 1");
    assert.equal(opened(again), [0, 1, 2, 3, 4, 5], "without waiting");
  });

  test("a node that was paused finds its shards lost, closes them, and leaves the rows of others alone", async () => {
    const [one, two] = await startTwo();
    two.isPaused = true;
    await nodes.pass(20_000);
    assert.equal(
      [opened(one), opened(two)],
      [
        [0, 1, 2, 3, 4, 5],
        [3, 4, 5],
      ],
    );
    one.isPaused = true;
    two.isPaused = false;
    await nodes.pass(500);
    assert.equal(
      [opened(two), callsOf(two, "lost").toSorted(), callsOf(two, "give")],
      [[], ["lost 3", "lost 4", "lost 5"], []],
    );
    assert.equal(await nodes.rows(), [1, 1, 1, 1, 1, 1]);
    assert.equal(holders(two), [1, 1, 1, 1, 1, 1], "it has watched 1 for no 6 s");
    one.isPaused = false;
    await nodes.pass(6 * beatMs);
    assert.equal([opened(one).length, opened(two).length], [3, 3], "it is given its share again");
  });

  test("a node that still closes a shard that was lost does not copy it into the same folder: it is to be asked again", async () => {
    const [one, two] = await startTwo();
    // As long as it gives nothing of them, what 1 takes over is to come back to 2.
    for (const shard of [3, 4, 5]) one.notCopied.add(shard);
    two.isPaused = true;
    await nodes.pass(20_000);
    let close = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      close = resolve;
    });
    two.faults.set("lost 4", () => closed);
    two.isPaused = false;
    await nodes.pass(beatMs);
    assert.equal([opened(one).length, opened(two)], [6, [4]]);
    const asked = () => Promise.all([3, 4, 5].map((shard) => two.leases.isToGet(shard)));
    assert.equal(await asked(), ["now", "later", "now"]);
    close();
    await nodes.settle();
    assert.equal([await asked(), opened(two)], [["now", "now", "now"], []]);
  });

  test("a node that was paused takes nobody for dead for what it has not watched", async () => {
    const [one, two] = await startTwo();
    for (const node of [one, two]) node.isPaused = true;
    await nodes.pass(20_000);
    two.isPaused = false;
    await nodes.pass(beatMs);
    assert.equal([opened(one), opened(two)], halves, "1 may have been paused as well");
    one.isPaused = false;
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one), opened(two), callsOf(one, "lost")], [[0, 1, 2], [3, 4, 5], []]);
  });

  test("a shard that is lost while it is being opened is closed afterwards", async () => {
    const [one, two] = await startTwo();
    let open = (): void => undefined;
    one.faults.set("take 5", () => new Promise((resolve) => (open = resolve)));
    await two.leases.close();
    await nodes.pass(beatMs);
    assert.equal(callsOf(one, "take").at(-1), "take 5");
    one.isPaused = true;
    const three = await nodes.start(3);
    await nodes.pass(5 * beatMs);
    assert.is(three.leases.holderOf(5), 3);
    one.isPaused = false;
    await nodes.pass(beatMs);
    assert.equal(callsOf(one, "lost").includes("lost 5"), false);
    open();
    await nodes.settle();
    assert.is(callsOf(one, "lost").includes("lost 5"), true);
    assert.equal([one.open.has(5), (await nodes.rows())[5]], [false, 3]);
  });

  /** An opening that waits for its log until it is aborted. */
  const untilAborted = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(new Error("the log is closed"))),
    );

  test("an opening that waits for its log ends with a stop: its shard is free, and has not failed", async () => {
    const one = await nodes.begin(1, "one");
    for (const shard of [0, 1, 2]) one.faults.set(`take ${shard}`, untilAborted);
    await nodes.settle();
    assert.equal(one.calls, ["take 0", "take 1"]);
    const closed = one.leases.close();
    await nodes.settle();
    await closed;
    assert.equal([one.calls.length, one.lines, counts(await nodes.rows())], [2, [], [0, 0, 0]]);
  });

  test("an opening that waits for its log ends as another takes the shard", async () => {
    const [one, two] = await startTwo();
    one.faults.set("take 5", untilAborted);
    await two.leases.close();
    await nodes.pass(beatMs);
    assert.equal(callsOf(one, "take").at(-1), "take 5");
    one.isPaused = true;
    const three = await nodes.start(3);
    await nodes.pass(5 * beatMs);
    assert.is(three.open.has(5), true);
    one.isPaused = false;
    one.calls.length = 0;
    await nodes.pass(beatMs);
    assert.equal([one.leases.holderOf(5), callsOf(one, "lost 5"), (await nodes.rows())[5]], [3, [], 3]);
    assert.equal(one.lines.includes("cannot open a shard"), false);
  });

  test("an opening that waits for its log ends as the node that reaches no broker gives up what it has", async () => {
    const [one, two] = await startTwo();
    two.faults.set("take 2", untilAborted);
    await one.leases.close();
    await nodes.pass(beatMs);
    assert.equal([callsOf(two, "take").at(-1), opened(two)], ["take 2", [0, 1, 3, 4, 5]]);
    two.isAble = false;
    const three = await nodes.start(3);
    await nodes.pass(8 * beatMs);
    assert.equal([opened(two), opened(three), two.lines], [[], [0, 1, 2, 3, 4, 5], []]);
  });

  test("one of two that take the same shard from the same holder has it", async () => {
    const [one, two] = [1, 2].map((number) => ({ number, owner: `process of ${number}` }));
    assert.ok(one && two);
    const take = (to: typeof one, from: typeof one | null) => takeShard(nodes.db, 0, { to, from, now: 0 });
    assert.equal(await Promise.all([take(one, null), take(two, null)]), [true, false]);
    assert.is(await take(two, { ...one, owner: "another process" }), false);
    assert.is(await take(two, one), true);
    assert.is(await freeShard(nodes.db, 0, one, 0), false, "it is another's");
    assert.is((await nodes.rows())[0], 2);
    assert.is(await freeShard(nodes.db, 0, two, 0), true);
    assert.is(await take(one, two), false, "it is free meanwhile");
    assert.is(await take(one, null), true);
  });

  test("a shard that another has taken since the look is not opened", async () => {
    const two = await nodes.begin(2, "two");
    const other = { number: 3, owner: "three" };
    await takeNumber(nodes.db, other, null);
    await nodes.settle();
    await two.leases.close();
    const one = await nodes.begin(1, "one");
    // Its look is over, and it has not written yet.
    const taken = await takeShard(nodes.db, 5, { to: other, from: null, now: 0 });
    await nodes.settle();
    assert.is(taken, true);
    assert.equal([one.open.has(5), (await nodes.rows())[5]], [false, 3]);
  });

  test("a shard that cannot be opened is given back, and tried again after delays that grow", async () => {
    const one = await nodes.begin(1, "one");
    one.cannotOpen.add(0);
    await nodes.settle();
    assert.equal([opened(one), (await nodes.rows())[0]], [[1, 2, 3, 4, 5], null]);
    assert.equal(one.lines, ["cannot open a shard"]);
    const tries: number[] = [];
    for (let beat = 1; beat <= 80; beat++) {
      const before = one.calls.length;
      await nodes.pass(beatMs);
      if (one.calls.length > before) tries.push(beat);
    }
    assert.equal(tries, [5, 15, 35, 75]);
    one.cannotOpen.clear();
    await nodes.pass(120_000);
    assert.equal([opened(one).length, (await nodes.rows())[0]], [6, 1]);
  });

  /** A node that can open all but these. */
  async function startUnable(number: number, cannotOpen: readonly number[]): Promise<TestNode> {
    const node = await nodes.begin(number, `process of ${number}`);
    for (const shard of cannotOpen) node.cannotOpen.add(shard);
    await nodes.settle();
    return node;
  }

  test("a shard that one node cannot open is another's at once, and then nothing moves", async () => {
    const one = await startUnable(1, [0]);
    const two = await nodes.start(2);
    assert.equal([opened(two), one.freed, two.lines], [[0], [0], []], "without a beat in between");
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one).length, opened(two).length, two.open.has(0)], [3, 3, true]);
    const before = [...one.calls, ...two.calls];
    // Longer than a node refuses a shard.
    await nodes.pass(70 * beatMs);
    assert.equal([...one.calls, ...two.calls], before);
    assert.is(callsOf(one, "take 0").length, 1);
    await two.leases.close();
    await nodes.pass(beatMs);
    assert.equal([callsOf(one, "take 0").length, opened(one)], [2, [1, 2, 3, 4, 5]], "there is nobody else");
  });

  test("a node that can open nothing has none, and takes those of others ever less often", async () => {
    const [one, two] = await startTwo();
    const gives = () => callsOf(one, "give").length + callsOf(two, "give").length;
    const before = gives();
    const three = await startUnable(3, [0, 1, 2, 3, 4, 5]);
    await nodes.pass(50 * beatMs);
    const tried = callsOf(three, "take").length;
    // Each of the others gives one at a time: two after 0, 5, 15, 35 and 75 s.
    assert.ok(tried >= 4 && tried <= 12 && gives() - before === tried, `${tried} tries`);
    await nodes.pass(2 * beatMs);
    assert.equal([opened(three), opened(one).length + opened(two).length], [[], 6]);
    three.cannotOpen.clear();
    await nodes.pass(50 * beatMs);
    assert.equal(counts(await nodes.rows()), [2, 2, 2]);
  });

  test("a shard that nobody can open is free until one of them can", async () => {
    const one = await startUnable(1, [0]);
    const two = await startUnable(2, [0]);
    await nodes.pass(20 * beatMs);
    assert.equal([(await nodes.rows())[0], one.leases.holderOf(0)], [null, null]);
    assert.equal([opened(one).length + opened(two).length, callsOf(two, "take 0").length > 1], [5, true]);
    two.cannotOpen.clear();
    await nodes.pass(130_000);
    assert.equal([(await nodes.rows())[0], two.open.has(0)], [2, true]);
    assert.equal([opened(one).length, opened(two).length], [3, 3]);
  });

  test("a node that alone cannot reach the brokers gives up its shards at once, and gets its share again", async () => {
    const [one, two] = await startTwo();
    two.isAble = false;
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one), opened(two)], halves, "it may be so everywhere");
    await nodes.pass(2 * beatMs);
    assert.equal([opened(one), opened(two)], [[0, 1, 2, 3, 4, 5], []]);
    assert.equal([callsOf(two, "give"), two.freed.length], [["give 3", "give 4", "give 5"], 3]);
    const before = [...one.calls, ...two.calls];
    await nodes.pass(20 * beatMs);
    assert.equal([...one.calls, ...two.calls], before);
    two.isAble = true;
    await nodes.pass(6 * beatMs);
    assert.equal([opened(one).length, opened(two).length], [3, 3]);
    assert.equal([...one.lines, ...two.lines], []);
  });

  test("where no node reaches the brokers nothing moves, nor as they come back one after the other", async () => {
    const [one, two] = await startTwo();
    const three = await nodes.start(3);
    await nodes.pass(6 * beatMs);
    const all = [one, two, three];
    const before = all.flatMap(({ calls }) => calls);
    for (const node of all) {
      node.isAble = false;
      await nodes.pass(2 * beatMs);
    }
    await nodes.pass(60 * beatMs);
    for (const node of all) {
      node.isAble = true;
      await nodes.pass(2 * beatMs);
    }
    await nodes.pass(20 * beatMs);
    assert.equal([all.flatMap(({ calls }) => calls), counts(await nodes.rows())], [before, [2, 2, 2]]);
  });

  test("a free shard waits for a node that reaches the brokers, and what one has stays where all others stop", async () => {
    const [one, two] = await startTwo();
    two.isAble = false;
    await nodes.pass(beatMs);
    await one.leases.close();
    await nodes.pass(20 * beatMs);
    assert.equal(
      [await nodes.rows(), opened(two)],
      [
        [null, null, null, 2, 2, 2],
        [3, 4, 5],
      ],
    );
    two.isAble = true;
    await nodes.pass(beatMs);
    assert.equal(opened(two), [0, 1, 2, 3, 4, 5]);
  });

  test("a node that cannot reach the brokers frees what it has not open, too", async () => {
    const [one, two] = await startTwo();
    two.isAble = false;
    two.open.delete(3);
    two.leases.dropped(3);
    await nodes.pass(8 * beatMs);
    assert.equal([opened(one), callsOf(two, "take 3").length], [[0, 1, 2, 3, 4, 5], 1]);
  });

  test("what could not be opened is tried at once when the brokers can be reached again", async () => {
    const one = await startUnable(1, [0]);
    await nodes.pass(6 * beatMs);
    assert.is(callsOf(one, "take 0").length, 2);
    one.isAble = false;
    await nodes.pass(beatMs);
    one.isAble = true;
    one.cannotOpen.clear();
    await nodes.pass(beatMs);
    assert.equal([callsOf(one, "take 0").length, one.open.has(0)], [3, true]);
  });

  test("a process that takes the number of another lacks nothing of what that lacked", async () => {
    const one = await startUnable(1, [0]);
    one.isAble = false;
    await nodes.pass(beatMs);
    const lacks = () => nodes.db.all("select able, refuses from cluster_node");
    assert.equal(await lacks(), [{ able: 0, refuses: "[0]" }]);
    one.isPaused = true;
    const second = nodes.begin(1, "second");
    await nodes.settle();
    await nodes.pass(3 * beatMs);
    await second;
    await nodes.settle();
    assert.equal(await lacks(), [{ able: 1, refuses: "[]" }]);
  });

  test("a shard that cannot be closed stays, and is tried again", async () => {
    const one = await nodes.start(1);
    one.faults.set("give 3", () => Promise.reject(new Error("not yet")));
    const two = await nodes.start(2);
    await nodes.pass(beatMs);
    assert.equal(
      [one.lines, one.leases.holderOf(3), (await nodes.rows())[3]],
      [["cannot hand over a shard"], 1, 1],
    );
    await nodes.pass(6 * beatMs);
    assert.equal([opened(one).length, opened(two).length], [3, 3]);
  });

  test("a shard that the service has dropped is routed to nobody, and its row is left alone", async () => {
    const [one, two] = await startTwo();
    const owner = "process of 2";
    const taken = { to: { number: 2, owner }, from: { number: 1, owner: "process of 1" }, now: 0 };
    assert.is(await takeShard(nodes.db, 0, taken), true);
    one.open.delete(0);
    one.leases.dropped(0);
    assert.is(one.leases.holderOf(0), null);
    await nodes.pass(beatMs);
    assert.equal([(await nodes.rows())[0], one.leases.holderOf(0), two.open.has(0)], [2, 2, true]);
    assert.equal([callsOf(one, "lost"), callsOf(one, "give").length], [[], 3]);
  });

  test("a shard that was dropped while its row is this node's is opened again", async () => {
    const one = await nodes.start(1);
    one.open.delete(0);
    one.leases.dropped(0);
    await one.leases.refresh();
    await nodes.settle();
    assert.is(one.open.has(0), false, "not at once");
    await nodes.pass(beatMs);
    assert.equal([one.open.has(0), callsOf(one, "lost")], [true, []]);
  });

  test("a shard whose log has ended, and ends again while it is opened, is another's at the next look", async () => {
    const [one, two] = await startTwo();
    one.open.delete(0);
    one.leases.dropped(0);
    one.faults.set("take 0", async () => {
      one.leases.dropped(0);
      throw new Error("its log has ended");
    });
    await nodes.pass(beatMs);
    assert.ok(one.freed.includes(0));
    await nodes.pass(beatMs);
    assert.equal([one.open.has(0), two.open.has(0), (await nodes.rows())[0]], [false, true, 2]);
  });

  test("a shard whose log ends while it is given is free at once all the same", async () => {
    const one = await nodes.start(1);
    one.faults.set("give 3", async () => one.leases.dropped(3));
    const two = await nodes.start(2);
    await nodes.pass(beatMs);
    assert.equal([callsOf(one, "give"), one.freed], [["give 3"], [3]]);
    await nodes.pass(beatMs);
    assert.is(two.open.has(3), true);
  });

  test("without the metadata each goes on with what it has: one line when they go, one when they are back", async () => {
    const [one, two] = await startTwo();
    for (const node of [one, two]) node.isCutOff = true;
    await nodes.pass(20_000);
    assert.equal(
      [holders(one), holders(two)],
      [
        [1, 1, 1, 2, 2, 2],
        [1, 1, 1, 2, 2, 2],
      ],
    );
    assert.equal([one.lines.length, two.lines.length], [1, 1]);
    const calls = [...one.calls, ...two.calls];
    for (const node of [one, two]) node.isCutOff = false;
    await nodes.pass(10 * beatMs);
    assert.equal([...one.calls, ...two.calls], calls, "nobody was taken for dead");
    assert.equal(one.lines, [
      "the cluster's metadata cannot be reached: no shard changes hands",
      "the cluster's metadata can be reached again",
    ]);
  });

  test("the time without the metadata counts for nobody's death", async () => {
    const [one, two] = await startTwo();
    for (const node of [one, two]) node.isCutOff = true;
    await nodes.pass(20_000);
    two.isCutOff = false;
    // Its third look: the one before the first was 20 s ago, and 1 had no way to beat in between.
    await nodes.pass(3 * beatMs);
    one.isCutOff = false;
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one), opened(two)], halves);
    assert.equal(callsOf(one, "lost"), []);
  });

  test("a node that alone is cut off loses its shards, and sees it when it is back", async () => {
    const [one, two] = await startTwo();
    two.isCutOff = true;
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one).length, opened(two).length], [6, 3], "the log decides, not the metadata");
    two.isCutOff = false;
    await nodes.pass(beatMs);
    assert.is(callsOf(two, "lost").length, 3);
  });

  test("a stop without the metadata closes all shards, and the others wait for no more than its beats", async () => {
    const [one, two] = await startTwo();
    two.isCutOff = true;
    await two.leases.close();
    assert.equal([opened(two), callsOf(two, "give").length], [[], 3]);
    await nodes.pass(4 * beatMs);
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
  });

  test("a shard that was closed while its row could not be written is freed later", async () => {
    const one = await nodes.start(1);
    one.faults.set("give 3", async () => {
      one.isCutOff = true;
    });
    const two = await nodes.start(2);
    await nodes.pass(beatMs);
    assert.equal([one.leases.holderOf(3), (await nodes.rows())[3]], [null, 1]);
    one.isCutOff = false;
    await nodes.pass(5 * beatMs);
    assert.equal([opened(one), opened(two)], halves);
  });

  test("a look that saw what was before a shard was taken does not lose it", async () => {
    const one = await nodes.begin(1, "one");
    let answer = (): void => undefined;
    one.onAnswer = (to) => (to === "read" ? new Promise((resolve) => (answer = resolve)) : Promise.resolve());
    const looked = one.leases.refresh();
    await nodes.settle();
    assert.equal(opened(one), [0, 1, 2, 3, 4, 5]);
    answer();
    await looked;
    one.onAnswer = null;
    await nodes.pass(3 * beatMs);
    assert.equal([opened(one), one.calls.length, one.lines], [[0, 1, 2, 3, 4, 5], 6, []]);
  });

  test("a shard that was taken, though the answer was lost, is opened once the metadata are back", async () => {
    const one = await nodes.begin(1, "one");
    one.onAnswer = async () => {
      throw new Error("broken off");
    };
    await nodes.settle();
    await nodes.pass(beatMs);
    assert.equal([opened(one), (await nodes.rows()).slice(0, 3), one.lines.length], [[], [1, 1, null], 1]);
    one.onAnswer = null;
    await nodes.pass(beatMs);
    assert.equal([opened(one), one.calls.length], [[0, 1, 2, 3, 4, 5], 6]);
  });

  test("a shard that was freed, though the answer was lost, is the other's", async () => {
    const one = await nodes.start(1);
    one.faults.set("give 3", async () => {
      one.onAnswer = async () => {
        throw new Error("broken off");
      };
    });
    const two = await nodes.start(2);
    await nodes.pass(2 * beatMs);
    assert.equal([one.leases.holderOf(3), opened(two)], [null, [3]]);
    one.onAnswer = null;
    await nodes.pass(4 * beatMs);
    assert.equal([opened(one), opened(two), one.leases.holderOf(3)], [[0, 1, 2], [3, 4, 5], 2]);
    await two.leases.close();
    await nodes.pass(beatMs);
    await one.leases.close();
    assert.is(callsOf(one, "give").filter((call) => call === "give 3").length, 2);
    assert.equal(await nodes.rows(), [null, null, null, null, null, null]);
  });

  test("a second process with the number of one that beats is refused, and changes nothing", async () => {
    const one = await nodes.start(1);
    const second = rejects(() => nodes.begin(1, "second"), /NODE_NUMBER: another process is node 1/);
    await nodes.settle();
    await nodes.pass(2 * beatMs);
    await second;
    await nodes.pass(beatMs);
    assert.equal([opened(one).length, one.lines], [6, []]);
  });

  test("a process takes the number of one that was killed after 6 s, and its shards with it", async () => {
    const one = await nodes.start(1);
    one.isPaused = true;
    const second = nodes.begin(1, "second");
    await nodes.settle();
    await nodes.pass(3 * beatMs);
    const started = await second;
    await nodes.settle();
    assert.equal(opened(started), [0, 1, 2, 3, 4, 5]);
    one.isPaused = false;
    await nodes.pass(beatMs);
    assert.equal([opened(one), callsOf(one, "lost").length, one.calls.at(-1)], [[], 6, "replaced"]);
    assert.is(one.leases.holderOf(0), null);
    await one.leases.close();
    assert.equal(
      [await nodes.rows(), await nodes.db.all("select owner from cluster_node")],
      [[1, 1, 1, 1, 1, 1], [{ owner: "second" }]],
    );
  });

  test("a node that stood still, or could not look, does not know who has what before others can have taken it", async () => {
    const [one, two] = await startTwo();
    for (const [other, away] of [
      [one, () => Object.assign(two, { isPaused: true })],
      [two, () => Object.assign(one, { isCutOff: true })],
    ] as const) {
      const node = away();
      assert.is(node.leases.areHoldersKnown(), true);
      // The first that is taken is the moment that counts.
      while (opened(other).length <= shards / 2) await nodes.pass(500);
      assert.is(node.leases.areHoldersKnown(), false);
      assert.is(other.leases.areHoldersKnown(), true);
      Object.assign(node, { isPaused: false, isCutOff: false });
      await nodes.pass(beatMs);
      assert.is(node.leases.areHoldersKnown(), true);
      await nodes.pass(10 * beatMs);
      assert.equal(counts(await nodes.rows()), [3, 3, 0]);
    }
  });

  test("nodes that die, pause, stop and come again in any order end with all shards open once", async () => {
    const [one, two] = await startTwo();
    const three = await nodes.start(3);
    const order = [two, one, three, two, three, one];
    for (const [i, node] of order.entries()) {
      node.isPaused = true;
      await nodes.pass(((i % 4) + 1) * 2500);
      node.isPaused = false;
      await nodes.pass(1500);
    }
    await nodes.pass(15 * beatMs);
    assert.equal(counts(await nodes.rows()), [2, 2, 2]);
    assert.equal([one, two, three].flatMap(opened).toSorted(), [0, 1, 2, 3, 4, 5]);
  });
});

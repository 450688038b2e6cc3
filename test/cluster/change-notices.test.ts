/** Nodes are notified of changes: each write makes them read the changes, and none waits long for a missing node. */
import { createChangeNotices } from "../../src/cluster/change-notices.js";
import { assert, suite, until } from "../suite.js";

suite("notices of changes", (test) => {
  interface Asked {
    readonly node: number;
    readonly body: object;
    answer(): void;
    fail(): void;
  }
  let asked: Asked[];
  let tell: () => Promise<void>;
  test.before.each(() => {
    asked = [];
    const call = (node: number, body: object, timeoutMs: number): Promise<unknown> =>
      new Promise((resolve, reject) => {
        assert.is(timeoutMs, 500);
        asked.push({ node, body, answer: () => resolve([]), fail: () => reject(new Error("away")) });
      });
    tell = createChangeNotices([1, 2], { call }, 500);
  });

  /** So many have been asked, the last of which are returned. */
  const comes = async (count: number): Promise<Asked[]> => {
    await until(() => asked.length >= count, { what: `${count} calls` });
    return asked.slice(-2);
  };
  const watched = (promise: Promise<void>) => {
    const watch = { isOver: false };
    void promise.then(() => {
      watch.isOver = true;
    });
    return watch;
  };
  const turns = () => new Promise((resolve) => setTimeout(resolve, 5));

  test("a change is confirmed once every node has read it, and one read serves all that wait for it", async () => {
    const first = watched(tell());
    const [one, two] = (await comes(2)) as [Asked, Asked];
    assert.equal([one.node, two.node, one.body], [1, 2, { call: "follow" }]);
    const later = [watched(tell()), watched(tell())];
    one.answer();
    await turns();
    assert.is(first.isOver, false, "node 2 has not looked");
    two.answer();
    await until(() => first.isOver, { what: "the first" });
    const [three, four] = (await comes(4)) as [Asked, Asked];
    assert.is(
      later.some(({ isOver }) => isOver),
      false,
      "their look has just begun",
    );
    three.answer();
    four.answer();
    await until(() => later.every(({ isOver }) => isOver), { what: "the others" });
    assert.is(asked.length, 4);
  });

  test("who is away is not waited for until it has answered", async () => {
    const first = watched(tell());
    const [one, two] = (await comes(2)) as [Asked, Asked];
    one.answer();
    two.fail();
    await until(() => first.isOver, { what: "the first" });
    const second = watched(tell());
    const [here, away] = (await comes(4)) as [Asked, Asked];
    here.answer();
    await until(() => second.isOver, { what: "the second, without node 2" });
    away.answer();
    await turns();
    const third = watched(tell());
    const [still, back] = (await comes(6)) as [Asked, Asked];
    still.answer();
    await turns();
    assert.is(third.isOver, false, "node 2 is back");
    back.answer();
    await until(() => third.isOver, { what: "the third" });
  });
});

/** Dead letters, as all nodes together list them. */
import { listClusterDeadLetters } from "../../src/journal-lists/cluster-dead-letters.js";
import type { DeadLetter } from "../../store/journal/dead-letters.js";
import { assert, suite } from "../suite.js";

const aside = (id: number, follower: DeadLetter["follower"] = "series"): DeadLetter => ({
  follower,
  id,
  device: 1,
  topic: "t",
  receivedAt: 1,
  reason: "it never ends",
  asideAt: 1,
});

suite("dead letters of all nodes", (test) => {
  test("are listed once, in order, also where two nodes have the same one", async () => {
    const parts = new Map([
      [2, [aside(5), aside(3, "alerts"), aside(3)]],
      [3, [aside(1), aside(5)]],
    ]);
    const nodes = {
      others: [2, 3],
      call: async (node: number) => parts.get(node),
      onFault: (error: Error) => {
        throw error;
      },
    };
    const found = await listClusterDeadLetters([aside(4), aside(1)], nodes);
    assert.equal(
      found.items.map(({ id, follower }) => `${id} ${follower}`),
      ["1 series", "3 alerts", "3 series", "4 series", "5 series"],
    );
    assert.is(found.truncated, false);
    assert.equal([found.nodes.get(3), found.nodes.get(4)], [2, undefined]);
  });
});

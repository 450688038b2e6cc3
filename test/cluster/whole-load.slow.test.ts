/**
 * A cluster on Kafka that does all it can do, while nodes and brokers are killed, frozen, cut off, restarted and lose their
 * power: the count.
 */
import { lossyDiskMissing } from "../kafka/lossy-disk.js";
import { assert, clusterNetworksSuite } from "../suite.js";
import type { BreakName } from "./whole-load/breaks.js";
import { withClusterOnKafka } from "./whole-load/cluster-on-kafka.js";
import { breakInRounds } from "./whole-load/rounds.js";

/** Longer than sessions with a broker live, and than a node waits for another. */
const frozenMs = 8000;
const order: readonly BreakName[] = [
  "node replaced",
  "all nodes restarted in turn",
  "node frozen",
  "node cut off",
  "broker frozen",
  "node and broker killed",
  "all brokers without power",
];

clusterNetworksSuite(
  "a cluster under a whole load",
  (test) => {
    test(
      `${order.join(", ")}: nothing is lost, twice, or wrongly published`,
      () =>
        withClusterOnKafka({ frozenMs }, async (all) => {
          const load = { messagesPerSecond: 30, quietMs: 1000 };
          const { rounds, counted } = await breakInRounds(order, { ...all, ...load });
          assert.is(rounds.length, order.length);
          assert.ok(counted.messages > 1000, `only ${counted.messages} messages`);
          assert.ok(counted.commands > 100, `only ${counted.commands} commands`);
          assert.ok(counted.schedules > 10, `only ${counted.schedules} schedules`);
        }),
      { timeoutMs: 600_000 },
    );
  },
  lossyDiskMissing,
);

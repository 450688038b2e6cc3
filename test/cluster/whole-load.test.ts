/**
 * A cluster on Kafka that does all it can do, while nodes and brokers are killed, frozen, restarted and lose their power:
 * the count.
 */
import { startBrokers } from "../kafka/brokers.js";
import { lossyDiskMissing } from "../kafka/lossy-disk.js";
import { assert, influxKafkaSuite, withTempDir } from "../suite.js";
import { numbers, startCluster } from "./three-nodes.js";
import type { BreakName } from "./whole-load/breaks.js";
import { breakInRounds } from "./whole-load/rounds.js";

const shards = 6;
/** Longer than sessions with a broker live, and than a node waits for another. */
const frozenMs = 8000;
const order: readonly BreakName[] = [
  "node replaced",
  "all nodes restarted in turn",
  "node frozen",
  "broker frozen",
  "node and broker killed",
  "all brokers without power",
];

influxKafkaSuite(
  "a cluster under a whole load",
  (test, { influx, brokers }) => {
    test(
      `${order.join(", ")}: nothing is lost, twice, or wrongly told`,
      () =>
        withTempDir(async (dir) => {
          const started = await brokers();
          const cluster = await startCluster(dir, await influx(), {
            JOURNAL_URL: `kafka://${started.addresses.join()}/whole-load`,
            JOURNAL_SHARDS: String(shards),
          });
          const places = [...numbers.keys()];
          const all = { cluster, dir, brokers: started, shards, places, frozenMs };
          const { rounds, counted } = await breakInRounds(order, {
            ...all,
            messagesPerSecond: 30,
            quietMs: 1000,
          });
          assert.is(rounds.length, order.length);
          assert.ok(counted.messages > 1000, `only ${counted.messages} messages`);
          assert.ok(counted.commands > 100, `only ${counted.commands} commands`);
          assert.ok(counted.schedules > 10, `only ${counted.schedules} schedules`);
          await cluster.stop();
        }),
      { timeoutMs: 600_000 },
    );
  },
  () => startBrokers(3, { loseUnsynced: true }),
  lossyDiskMissing,
);

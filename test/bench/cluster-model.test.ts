import { type ClusterCosts, carriedBy, costBetween, firstWall } from "../../bench/models/cluster.js";
import { assert, suite } from "../suite.js";

const costs: ClusterCosts = {
  node: { base: 0.3, perMessage: 40 },
  mainThread: { base: 0.2, perMessage: 20 },
  hop: { node: 20, mainThread: 20 },
  broker: { base: 0.4, perMessage: 40 },
  influx: { base: 0, perMessage: 60 },
};
const machines = { nodes: 1, brokers: 3, influxes: 1, processors: 4 };

suite("the model of a cluster", (test) => {
  test("a node alone is bound by its main thread, or by its processors where there are few", () => {
    // 0.6 − 0.2 of a second at 20 µs; 0.6 − 0.3 at 40 µs.
    assert.is(Math.round(carriedBy(costs, machines).nodes), 20_000);
    assert.is(Math.round(carriedBy(costs, { ...machines, processors: 1 }).nodes), 7500);
  });

  test("with four nodes three quarters of all messages are passed on", () => {
    // 20 + 0.75 × 20 µs of each main thread.
    assert.is(Math.round(carriedBy(costs, { ...machines, nodes: 4 }).nodes), Math.round((4 * 400_000) / 35));
  });

  test("each of three brokers has every message, of six each second one", () => {
    // 2.4 − 0.4 processors at 40 µs.
    assert.is(Math.round(carriedBy(costs, machines).brokers), 50_000);
    assert.is(Math.round(carriedBy(costs, { ...machines, brokers: 6 }).brokers), 100_000);
  });

  test("the part that carries least is the wall", () => {
    assert.is(firstWall(carriedBy(costs, machines)), "nodes");
    assert.is(firstWall(carriedBy(costs, { ...machines, nodes: 12 })), "influx");
    assert.is(firstWall(carriedBy(costs, { ...machines, nodes: 24, influxes: 4 })), "brokers");
  });

  test("a part that is busy without any message carries none", () => {
    assert.is(carriedBy({ ...costs, influx: { base: 3, perMessage: 1 } }, machines).influx, 0);
  });

  test("a part whose messages cost too little to measure is no bottleneck", () => {
    for (const perMessage of [0, -2.5]) {
      const carried = carriedBy({ ...costs, broker: { base: 0.3, perMessage } }, machines);
      assert.is(carried.brokers, Number.POSITIVE_INFINITY);
      assert.is(firstWall(carried), "nodes");
    }
  });

  test("two rates make a line", () => {
    const { base, perMessage } = costBetween({ rate: 1000, busy: 0.3 }, { rate: 3000, busy: 0.4 });
    assert.is(Math.round(base * 1000), 250);
    assert.is(Math.round(perMessage), 50);
  });
});

/** A cluster as one target: each call goes to a node drawn by chance. */
import { connectAsync } from "mqtt";
import type { Target } from "../conformance/line.js";
import type { RunningService } from "../flow/support.js";
import type { Random } from "../fuzz/random.js";
import { ask } from "../world.js";
import type { Cluster } from "./three-nodes.js";

export interface RandomNode extends Target {
  /** How many calls went to each node. */
  readonly calls: readonly number[];
}

export function createRandomNode({ nodes, apiKey }: Cluster, random: Random): RandomNode {
  const calls = nodes.map(() => 0);

  async function call(
    ...[method, path, body, { key = apiKey, headers = {} } = {}]: Parameters<Target["call"]>
  ) {
    const place = random.below(nodes.length);
    calls[place] = (calls[place] ?? 0) + 1;
    const { http } = (nodes[place] as RunningService).addresses;
    return ask(String(http), method, path, body, { key, headers });
  }

  return {
    calls,
    call,
    publish: async (device, ...payloads) => {
      const client = await connectAsync(random.pick(nodes).mqtt, {
        username: String(device.deviceUsername),
        password: String(device.token),
        reconnectPeriod: 0,
      });
      for (const payload of payloads) {
        const text = typeof payload === "string" ? payload : JSON.stringify(payload);
        await client.publishAsync("data", text, { qos: 1 });
      }
      await client.endAsync();
      for (const node of nodes) await node.settled();
    },
  };
}

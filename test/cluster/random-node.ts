/** A cluster as one target: each call goes to a node drawn by chance. */
import { connectAsync } from "mqtt";
import type { Target } from "../conformance/line.js";
import type { RunningService } from "../flow/support.js";
import type { Random } from "../fuzz/random.js";
import { assert } from "../suite.js";
import { ask, type Reply } from "../world.js";
import { type Cluster, numbers } from "./three-nodes.js";

/** Lists that are of the asked node, and say so, unless they are of one device (docs/cluster.md). */
const ofAskedNode = ["/api/v1/device_connect_logs", "/api/v1/device_events"];

export interface RandomNode extends Target {
  /** How many calls went to each node. */
  readonly calls: readonly number[];
}

export function createRandomNode({ nodes, apiKey }: Cluster, random: Random): RandomNode {
  const calls = nodes.map(() => 0);
  /** The place of the first speaker's keeper: lists of the asked node are asked there, where they hold something. */
  let keeper: number | null = null;

  async function call(
    ...[method, path, body, { key = apiKey, headers = {} } = {}]: Parameters<Target["call"]>
  ) {
    const isOfAskedNode = ofAskedNode.includes(path.split("?", 1)[0] as string);
    const place = isOfAskedNode && keeper !== null ? keeper : random.below(nodes.length);
    calls[place] = (calls[place] ?? 0) + 1;
    const { http } = (nodes[place] as RunningService).addresses;
    const reply = await ask(String(http), method, path, body, { key, headers });
    if (isOfAskedNode) saysSo(path, reply);
    return reply;
  }

  return {
    calls,
    call,
    publish: async (device, ...payloads) => {
      keeper ??= device.id % numbers.length;
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

/** Filters of devices may leave one of them, whose records are all there wherever they are asked for. */
function saysSo(path: string, { status, headers }: Reply): void {
  if (status !== 200 || /[?&]device(ID|Name)/.test(path)) return;
  assert.is(headers.get("truncated"), "true", path);
}

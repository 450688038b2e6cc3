/** Dead letters of all nodes of a cluster, and which node has one of them. */
import { z } from "@hono/zod-openapi";
import { type DeadLetter, followers } from "../../store/journal/dead-letters.js";
import { askOthers, type OtherNodes } from "./other-nodes.js";

const whole = z.int().nonnegative();
const answer = z.array(
  z.strictObject({
    follower: z.enum(followers),
    id: whole,
    device: whole,
    topic: z.string(),
    receivedAt: z.number(),
    reason: z.string(),
    asideAt: z.number(),
  }),
);

interface ClusterDeadLetters {
  /** Ordered by journal id and follower, each once. */
  readonly items: readonly DeadLetter[];
  /** Whether a node is missing. */
  readonly truncated: boolean;
  /** By journal id: the other node that has the message. */
  readonly nodes: ReadonlyMap<number, number>;
}

export async function listClusterDeadLetters(
  own: readonly DeadLetter[],
  nodes: OtherNodes,
): Promise<ClusterDeadLetters> {
  const parts = await askOthers(
    nodes,
    () => ({ call: "asides" }),
    (node, found) => answer.parse(found).map((deadLetter) => ({ node, aside: deadLetter })),
  );
  const there = parts.flatMap((part) => part ?? []);
  // A shard that has moved may have met the same message again, while its file has stayed where it was.
  const items = [
    ...new Map(
      [...own, ...there.map(({ aside: deadLetter }) => deadLetter)].map((deadLetter) => [
        `${deadLetter.id} ${deadLetter.follower}`,
        deadLetter,
      ]),
    ).values(),
  ];
  return {
    items: items.sort((a, b) => a.id - b.id || (a.follower < b.follower ? -1 : 1)),
    truncated: parts.includes(null),
    nodes: new Map(there.map(({ node, aside: deadLetter }) => [deadLetter.id, node])),
  };
}

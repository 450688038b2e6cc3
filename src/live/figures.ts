/** The overview's figures of one process, and of all processes of a cluster. */
import { z } from "@hono/zod-openapi";
import type { ShardPlaces } from "../../ingest/directory/by-shard.js";
import type { Meter } from "../../ingest/meter.js";
import { type Rated, rateSeconds } from "../../ingest/rates.js";
import type { Clock } from "../../store/lib/clock.js";
import { askOthers, type OtherNodes } from "../journal-lists/other-nodes.js";
import type { Status } from "../observability/status.js";

const count = z.int().nonnegative();
const amount = z.number().nonnegative();
const perSecond = z.array(count).max(rateSeconds).readonly();

/** How a node answers another. */
const nodeFigures = z.strictObject({
  /** The shards that the node certainly holds. */
  shards: z.array(count).readonly(),
  rates: z
    .strictObject({
      messages: perSecond,
      points: perSecond,
      refused: z.array(z.strictObject({ reason: z.string(), count })).readonly(),
    })
    .nullable(),
  /** Since the end of the newest second of the rates. */
  sinceWholeSecondMs: amount,
  connections: count,
  lag: z.strictObject({ messages: count, seconds: amount }),
  commit: z.strictObject({ p50Ms: amount, p99Ms: amount }),
  disk: z.strictObject({ freeBytes: amount, isFull: z.boolean() }),
});

export type NodeFigures = z.infer<typeof nodeFigures>;
type ShownRates = NonNullable<NodeFigures["rates"]>;

export interface Figures extends Omit<NodeFigures, "shards"> {
  /** The end of the newest second of the rates, milliseconds since 1970. */
  readonly endTime: number;
  /** Whether those of a node or a shard are missing. */
  readonly truncated: boolean;
}

/** Reads the figures of a tenant; null: of all. */
export type ReadFigures = (tenant: number | null) => Promise<Figures>;

interface FiguresDeps {
  readonly meter: {
    readonly rates: Pick<Meter["rates"], "of" | "all" | "sinceWholeSecondMs">;
    readonly connections: number;
  };
  readonly status: Pick<Status, "figures">;
  readonly shards: () => ShardPlaces;
}

/** Those of this process. */
export function figuresHere({ meter, status, shards }: FiguresDeps, tenant: number | null): NodeFigures {
  const { rates, connections } = meter;
  const { lag, commit, disk } = status.figures();
  const rated: Rated | null = tenant === null ? rates.all() : rates.of(tenant);
  const { sinceWholeSecondMs } = rates;
  return { shards: shards().here, rates: rated, sinceWholeSecondMs, connections, lag, commit, disk };
}

/** They are asked for each second. */
const askMs = 1_000;
/** How long a node that has not answered is not called again: callers would have to wait for it each time. */
const restMs = 5_000;

/** @param nodes null: the process is alone */
export function createFigures(
  deps: FiguresDeps & Pick<Clock, "now" | "monotonic">,
  nodes: Pick<OtherNodes, "others" | "call"> | null,
): ReadFigures {
  const { now, monotonic } = deps;
  const timed = (figures: Omit<NodeFigures, "shards">) => ({
    ...figures,
    endTime: Math.round(now() - figures.sinceWholeSecondMs),
  });
  if (nodes === null) return async (tenant) => ({ ...timed(figuresHere(deps, tenant)), truncated: false });
  const { others, call } = nodes;
  const failedAt = new Map<number, number>();
  const isResting = (node: number): boolean =>
    monotonic() - (failedAt.get(node) ?? Number.NEGATIVE_INFINITY) < restMs;
  const callOtherNode: OtherNodes["call"] = async (node, body, timeoutMs) => {
    try {
      return await call(node, body, timeoutMs);
    } catch (error) {
      failedAt.set(node, monotonic());
      throw error;
    }
  };
  return async (tenant) => {
    const answering = others.filter((node) => !isResting(node));
    const answers = await askOthers(
      // Other calls report that a node is away.
      { others: answering, call: callOtherNode, onFault: () => undefined },
      () => ({ call: "figures", tenant }),
      (_, answer) => nodeFigures.parse(answer),
      askMs,
    );
    const found = answers.filter((one) => one !== null);
    const own = figuresHere(deps, tenant);
    const isWhole = found.length === others.length && areAllOnce([own, ...found], deps.shards());
    return { ...timed(together(own, found)), truncated: !isWhole };
  };
}

/** Whether each shard is at one node: none is on its way, and none is counted at the one it left as well. */
function areAllOnce(all: readonly NodeFigures[], { here, elsewhere, nowhere }: ShardPlaces): boolean {
  const shards = new Set([...here, ...nowhere, ...[...elsewhere.values()].flat()]);
  const counted = all.flatMap((one) => one.shards);
  return counted.length === shards.size && counted.every((shard) => shards.delete(shard));
}

function together(own: NodeFigures, others: readonly NodeFigures[]): Omit<NodeFigures, "shards"> {
  const all = [own, ...others];
  const sum = (of: (one: NodeFigures) => number): number => all.reduce((total, one) => total + of(one), 0);
  const most = (of: (one: NodeFigures) => number): number => Math.max(...all.map(of));
  // Each counts seconds of its own: to one of ours belongs the one that has ended in it.
  const late = (one: NodeFigures): number => (one.sinceWholeSecondMs < own.sinceWholeSecondMs ? 1 : 0);
  const rates = all.flatMap((one) => (one.rates === null ? [] : { ...one.rates, late: late(one) }));
  return {
    // If one node does not count the tenant separately, the rates are unknown.
    rates: rates.length < all.length ? null : ratesTogether(rates),
    sinceWholeSecondMs: own.sinceWholeSecondMs,
    connections: sum((one) => one.connections),
    lag: { messages: sum((one) => one.lag.messages), seconds: most((one) => one.lag.seconds) },
    commit: { p50Ms: most((one) => one.commit.p50Ms), p99Ms: most((one) => one.commit.p99Ms) },
    disk: {
      freeBytes: -most((one) => -one.disk.freeBytes),
      isFull: all.some((one) => one.disk.isFull),
    },
  };
}

/** @param all `late`: how many of the newest seconds have ended too late */
function ratesTogether(all: readonly (ShownRates & { readonly late: number })[]): ShownRates {
  const added = (of: (one: ShownRates) => readonly number[]): number[] =>
    Array.from({ length: rateSeconds }, (_, i) =>
      all.reduce((total, one) => total + (of(one).at(i - rateSeconds - one.late) ?? 0), 0),
    );
  const refused = new Map<string, number>();
  for (const { reason, count: some } of all.flatMap((one) => one.refused))
    refused.set(reason, (refused.get(reason) ?? 0) + some);
  return {
    messages: added((one) => one.messages),
    points: added((one) => one.points),
    refused: [...refused]
      .map(([reason, total]) => ({ reason, count: total }))
      .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
  };
}

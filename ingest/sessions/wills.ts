import { createShares } from "../../store/lib/shares.js";
import { lightWorkMax, type WorkBudget } from "../uplinks/work-budget.js";
import type { SessionRecords } from "./records.js";
import type { SessionRegistry } from "./session-registry.js";
import type { DueWill } from "./state.js";

/** Publishes wills when they are due. */
export interface Wills {
  /** A will may have become due. */
  look(): void;
  close(): void;
}

interface WillsDeps {
  readonly registry: Pick<SessionRegistry, "dueWills" | "publishCost">;
  readonly work: WorkBudget;
  readonly records: Pick<SessionRecords, "publishWill">;
  /** Whether a policy forbids the device the topic now. */
  refuses(device: number, topic: string): Promise<boolean>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onTrouble: (error: Error) => void;
}

const lookMs = 1000;
/** Wills on their way to the disk at once: a network that breaks down may end thousands of connections together. */
const willsAtOnce = 500;

export function startWills({ registry, records, work, refuses, now, onTrouble }: WillsDeps): Wills {
  /** Wills on their way to the disk, by connection, with the tenant of each: each goes once. */
  const published = new Map<number, number>();
  const places = createShares<number>(willsAtOnce);
  let planned = false;
  /** More are due than may be on their way at once. */
  let isMore = false;
  let closed = false;

  function publishDue(): void {
    planned = false;
    if (closed) return;
    const due = registry.dueWills(now() * 1000);
    const connections = new Set(due.map(({ connection }) => connection));
    for (const connection of published.keys()) if (!connections.has(connection)) letGo(connection);
    isMore = false;
    for (const will of due) {
      if (published.has(will.connection)) continue;
      if (!places.take(will.tenant, 1)) {
        isMore = true;
        continue;
      }
      published.set(will.connection, will.tenant);
      publish(will).catch((error: Error) => {
        // It is looked at again later.
        letGo(will.connection);
        onTrouble(error);
      });
    }
  }

  function letGo(connection: number): void {
    const tenant = published.get(connection);
    if (tenant !== undefined && published.delete(connection)) places.give(tenant, 1);
  }

  async function publish(due: DueWill): Promise<void> {
    const { tenant, device } = due;
    const { topic } = due.will;
    const isRefused = await refuses(device, topic);
    const cost = registry.publishCost(device, topic);
    if (cost <= lightWorkMax) return records.publishWill(due, isRefused, goOn);
    // The wills of a thousand connections that end together may each reach thousands of filters.
    await work.room(tenant, cost);
    const give = (): void => work.give(tenant, cost);
    if (closed) return give();
    try {
      records.publishWill(due, isRefused, () => {
        give();
        goOn();
      });
    } catch (error) {
      give();
      throw error;
    }
  }

  function goOn(): void {
    if (isMore) look();
  }

  function look(): void {
    if (planned) return;
    planned = true;
    setImmediate(publishDue);
  }

  const timer = setInterval(publishDue, lookMs);
  return {
    look,
    // What becomes due while the service stops is published by the next start [MQTT-3.1.2-8].
    close: () => {
      closed = true;
      clearInterval(timer);
    },
  };
}

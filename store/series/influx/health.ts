/** Whether the server serves, reported when that changes. */
import { StoreError } from "../../lib/errors.js";

type InfluxWay = "writes" | "queries";

/** Why the server does not serve. */
export type InfluxTrouble =
  | "away" // no connection, or an error of its own
  | "timeout"
  | "busy" // it asks for fewer requests
  | "token" // unknown, or lacks the permission
  | "bucket"; // the bucket or its organization does not exist, or is hidden from the token

export interface InfluxState {
  readonly way: InfluxWay;
  /** Null: it serves again. */
  readonly trouble: InfluxTrouble | null;
  readonly message: string;
  /** How long it had not served. */
  readonly awayMs: number;
}

export class InfluxUnavailable extends StoreError {
  constructor(
    readonly trouble: InfluxTrouble,
    message: string,
    fields: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super("UNAVAILABLE", message, fields, options);
  }
}

interface InfluxHealth {
  /** Runs a request and learns from its outcome. */
  observe<T>(way: InfluxWay, request: () => Promise<T>): Promise<T>;
  observeAll<T>(way: InfluxWay, answer: () => AsyncGenerator<T>): AsyncGenerator<T>;
}

interface Known {
  trouble: InfluxTrouble | null;
  /** When this state began, and when the server last served; monotonic milliseconds. */
  since: number;
  servedAt: number;
}

export function createInfluxHealth(
  monotonic: () => number,
  told: (state: InfluxState) => void,
): InfluxHealth {
  const fresh = (): Known => ({ trouble: null, since: Number.NEGATIVE_INFINITY, servedAt: -1 });
  const ways: Readonly<Record<InfluxWay, Known>> = { writes: fresh(), queries: fresh() };

  /** One slow query beside others that are answered changes nothing; nor does an answer to an earlier request. */
  function serves(way: InfluxWay, began: number): void {
    const known = ways[way];
    if (known.trouble === null) known.servedAt = Math.max(known.servedAt, began);
    if (known.trouble === null || began < known.since) return;
    const awayMs = Math.round(monotonic() - known.since);
    Object.assign(known, { trouble: null, since: monotonic(), servedAt: began });
    told({ way, trouble: null, message: "", awayMs });
  }

  function fails(way: InfluxWay, began: number, { trouble, message }: InfluxUnavailable): void {
    const known = ways[way];
    if (known.trouble === trouble || began < known.servedAt) return;
    if (known.trouble === null) known.since = monotonic();
    known.trouble = trouble;
    told({ way, trouble, message, awayMs: 0 });
  }

  function ended(way: InfluxWay, began: number, error: unknown): void {
    if (error instanceof InfluxUnavailable) fails(way, began, error);
  }

  return {
    observe: async (way, request) => {
      const began = monotonic();
      try {
        const result = await request();
        serves(way, began);
        return result;
      } catch (error) {
        ended(way, began, error);
        throw error;
      }
    },
    observeAll: async function* (way, answer) {
      const began = monotonic();
      try {
        yield* answer();
        serves(way, began);
      } catch (error) {
        ended(way, began, error);
        throw error;
      }
    },
  };
}

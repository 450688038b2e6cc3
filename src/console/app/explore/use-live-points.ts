/** New points of the chosen devices as they come, to be put behind those that were asked for. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLive } from "../live/live.js";

interface Tail {
  readonly times: readonly number[];
  readonly values: readonly number[];
}

interface LivePoint {
  readonly deviceID: string;
  readonly dataPointID: string;
  readonly time: number;
  readonly value: unknown;
}

const pointsMax = 5000;
const none: ReadonlyMap<string, Tail> = new Map();

/** By deviceID and dataPointID. */
export function useLivePoints(
  devices: readonly string[],
  isOn: boolean,
): { readonly tails: ReadonlyMap<string, Tail>; readonly isConnected: boolean } {
  const tails = useSignal(none);
  const names = devices.join();
  useEffect(() => {
    tails.value = none;
  }, [names, isOn]);
  const isConnected = useLive({
    devices: isOn ? devices : [],
    onPoints: (points) => {
      tails.value = withPoints(tails.value, points);
    },
  });
  return { tails: tails.value, isConnected };
}

function withPoints(
  tails: ReadonlyMap<string, Tail>,
  points: readonly LivePoint[],
): ReadonlyMap<string, Tail> {
  const next = new Map(tails);
  for (const { deviceID, dataPointID, time, value } of points) {
    if (typeof value !== "number" && typeof value !== "boolean") continue;
    const key = `${deviceID}/${dataPointID}`;
    const { times, values } = next.get(key) ?? { times: [], values: [] };
    // What comes late has its place among those that are asked for again.
    if (time <= (times.at(-1) ?? Number.NEGATIVE_INFINITY)) continue;
    next.set(key, {
      times: [...times, time].slice(-pointsMax),
      values: [...values, Number(value)].slice(-pointsMax),
    });
  }
  return next;
}

/** What was asked for, and what has come since. */
export function withTail<
  Values extends { readonly times: readonly number[]; readonly values: readonly (number | null)[] },
>(values: Values, tail: Tail | undefined): Values {
  const last = values.times.at(-1) ?? Number.NEGATIVE_INFINITY;
  const first = tail?.times.findIndex((time) => time > last) ?? -1;
  if (tail === undefined || first === -1) return values;
  return {
    ...values,
    times: [...values.times, ...tail.times.slice(first)],
    values: [...values.values, ...tail.values.slice(first)],
  };
}

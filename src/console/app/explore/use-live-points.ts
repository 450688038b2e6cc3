/** New points of the chosen devices as they come, to be put among those that were asked for. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { LatePoints } from "../charts/late-points.js";
import { useLive } from "../live/live.js";
import { addPoint, type Tails } from "./tails.js";

interface LivePoints {
  /** By deviceID and dataPointID. */
  readonly tails: Tails;
  readonly late: LatePoints;
  /** Another one: the same tails have grown. */
  readonly round: number;
  readonly isConnected: boolean;
}

export function useLivePoints(devices: readonly string[], isOn: boolean): LivePoints {
  const late = useRef(new LatePoints()).current;
  const tails = useRef<Tails>(new Map());
  const round = useSignal(0);
  const names = devices.join();
  useEffect(() => {
    tails.current.clear();
    late.clear();
    round.value++;
  }, [names, isOn]);
  const isConnected = useLive({
    devices: isOn ? devices : [],
    onPoints: (points) => {
      const now = Date.now();
      for (const { deviceID, dataPointID, dataPointIntID, time, value } of points) {
        const isLate = late.add(deviceID, dataPointIntID, time, now);
        if (typeof value === "number" || typeof value === "boolean")
          addPoint(tails.current, `${deviceID}/${dataPointID}`, time, Number(value), isLate);
      }
      round.value++;
    },
  });
  return { tails: tails.current, late, round: round.value, isConnected };
}

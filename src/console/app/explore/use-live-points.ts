/** New points of the chosen devices as they come, to be put among those that were asked for. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useLive } from "../live/live.js";
import { addPoint, type Tails } from "./tails.js";

/** By deviceID and dataPointID; the same map, which grows, under another round. */
export function useLivePoints(
  devices: readonly string[],
  isOn: boolean,
): { readonly tails: Tails; readonly round: number; readonly isConnected: boolean } {
  const tails = useRef<Tails>(new Map());
  const round = useSignal(0);
  const names = devices.join();
  useEffect(() => {
    tails.current.clear();
    round.value++;
  }, [names, isOn]);
  const isConnected = useLive({
    devices: isOn ? devices : [],
    onPoints: (points) => {
      for (const { deviceID, dataPointID, time, value } of points) {
        if (typeof value === "number" || typeof value === "boolean")
          addPoint(tails.current, `${deviceID}/${dataPointID}`, time, Number(value));
      }
      round.value++;
    },
  });
  return { tails: tails.current, round: round.value, isConnected };
}

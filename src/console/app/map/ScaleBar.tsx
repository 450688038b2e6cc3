import { useSignal } from "@preact/signals";
import type { Map as LeafletMap } from "leaflet";
import { useEffect } from "preact/hooks";

/** Two fifths of it, which is the least that is drawn, hold the longest figure. */
const widthMax = 150;

/** How long something is on the ground, in the middle of the map. */
export function ScaleBar({ map }: { readonly map: LeafletMap }) {
  const bar = useSignal(measureBar(map));
  useEffect(() => {
    const follow = (): void => {
      bar.value = measureBar(map);
    };
    // It may have been moved since this was drawn.
    follow();
    map.on("zoomend moveend resize", follow);
    return () => {
      map.off("zoomend moveend resize", follow);
    };
  }, [map]);
  const { metres, pixels } = bar.value;
  return (
    <span class="map-scale" style={{ width: `${pixels}px` }}>
      {metres >= 1000 ? `${metres / 1000} km` : `${metres} m`}
    </span>
  );
}

function measureBar(map: LeafletMap): { readonly metres: number; readonly pixels: number } {
  const { x, y } = map.getSize().divideBy(2);
  const longest = map.distance(
    map.containerPointToLatLng([x, y]),
    map.containerPointToLatLng([x + widthMax, y]),
  );
  if (longest < 1) return { metres: 1, pixels: widthMax };
  const size = 10 ** Math.floor(Math.log10(longest));
  const metres = ([5, 2, 1].find((one) => one * size <= longest) ?? 1) * size;
  return { metres, pixels: Math.round((widthMax * metres) / longest) };
}

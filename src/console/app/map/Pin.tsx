/** A point of a map with a word beside it. */
import { DivIcon, type Map as LeafletMap, Marker } from "leaflet";
import { useEffect } from "preact/hooks";
import type { LngLat } from "./places.js";
import { turnedTo } from "./places.js";

interface PinProps {
  readonly map: LeafletMap;
  readonly place: LngLat | undefined;
  readonly kind: "here" | "first" | "last" | "draft" | "cursor";
  readonly text: string;
}

export function Pin({ map, place, kind, text }: PinProps) {
  const [longitude = 0, latitude = 0] = place ?? [];
  useEffect(() => {
    const element = document.createElement("span");
    element.className = `pin ${kind}`;
    element.textContent = text;
    const icon = new DivIcon({ html: element, className: "map-mark", iconSize: [0, 0] });
    const at: [number, number] = [latitude, turnedTo(longitude, map.getCenter().lng)];
    const marker = new Marker(at, { icon, interactive: false, keyboard: false }).addTo(map);
    return () => {
      marker.remove();
    };
  }, [map, longitude, latitude, kind, text]);
  return null;
}

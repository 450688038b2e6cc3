/** Fences: an area that must not be left has a full edge, one that must not be entered a broken one. */
import { Circle, CircleMarker, type LatLngTuple, type Layer, type Map as LeafletMap, Polygon } from "leaflet";
import { useEffect } from "preact/hooks";
import type { Scope } from "./placed-device.js";
import type { LngLat } from "./places.js";
import { turnedTo } from "./places.js";
import { onward } from "./track.js";

/** An area while it is being drawn. */
export interface Sketch {
  readonly shape: "polygon" | "circle";
  /** A circle has one: its centre. */
  readonly corners: readonly LngLat[];
  /** The radius of a circle, in metres; 0 until the user has chosen one. */
  readonly radius: number;
}

interface AreasProps {
  readonly map: LeafletMap;
  readonly scopes: readonly Scope[];
  readonly sketch: Sketch | null;
}

const forbidden = 2;
const cornerPixels = 4;

export function Areas({ map, scopes, sketch }: AreasProps) {
  useEffect(
    () =>
      shown(
        map,
        scopes.map((scope) => {
          const className = `area ${scope.scopeType === forbidden ? "forbidden" : "allowed"}`;
          return "points" in scope
            ? polygon(map, scope.points, className)
            : circle(map, scope.center, scope.radius, className);
        }),
      ),
    [map, JSON.stringify(scopes)],
  );
  useEffect(
    () => shown(map, sketch === null ? [] : createLayers(map, sketch)),
    [map, JSON.stringify(sketch)],
  );
  return null;
}

function shown(map: LeafletMap, layers: readonly Layer[]): () => void {
  for (const layer of layers) layer.addTo(map);
  return () => {
    for (const layer of layers) layer.remove();
  };
}

function createLayers(map: LeafletMap, { shape, corners, radius }: Sketch): Layer[] {
  const [center] = corners;
  const className = "area sketch";
  const area =
    shape === "polygon"
      ? [polygon(map, corners, className)]
      : center === undefined
        ? []
        : [circle(map, center, radius, className)];
  const dots = projectCorners(map, corners).map(
    (at) => new CircleMarker(at, { radius: cornerPixels, className: "area corner", interactive: false }),
  );
  return [...area, ...dots];
}

const polygon = (map: LeafletMap, corners: readonly LngLat[], className: string): Layer =>
  new Polygon(projectCorners(map, corners), { className, interactive: false, weight: 1.5 });

const circle = (map: LeafletMap, center: LngLat, radius: number, className: string): Layer =>
  new Circle(projectCorners(map, [center])[0] ?? [0, 0], {
    className,
    radius,
    interactive: false,
    weight: 1.5,
  });

/** On the turn of the earth that is in view. */
function projectCorners(map: LeafletMap, corners: readonly LngLat[]): LatLngTuple[] {
  const first = corners[0]?.[0] ?? 0;
  const turn = turnedTo(first, map.getCenter().lng) - first;
  return onward(corners).map(([longitude, latitude]) => [latitude, longitude + turn]);
}

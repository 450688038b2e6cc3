/** The track as a line with its direction; near it the pointer says when the device was there. */
import { LatLng, type Map as LeafletMap, type LeafletMouseEvent, Polyline } from "leaflet";
import { useEffect } from "preact/hooks";
import { turnedTo } from "./places.js";
import { arrowheads, nearest, onward, type Position } from "./track.js";

interface TrackLineProps {
  readonly map: LeafletMap;
  readonly track: readonly Position[];
  onCursor(index: number): void;
}

const arrowEvery = 110;
const arrowSize = 7;
const arrowsMax = 200;
const reachPixels = 14;

export function TrackLine({ map, track, onCursor }: TrackLineProps) {
  useEffect(() => {
    if (track.length === 0) return;
    const places = projectTrack(map, track);
    const line = new Polyline(places, { className: "track", interactive: false, weight: 2 }).addTo(map);
    const heads = new Polyline([], { className: "track", interactive: false, weight: 2 }).addTo(map);
    const draw = (): void => {
      const pixels = places.map((place) => map.project(place));
      const found = arrowheads(pixels, arrowEvery, arrowSize, arrowsMax);
      heads.setLatLngs(found.map((head) => head.map(({ x, y }) => map.unproject([x, y]))));
    };
    const look = ({ layerPoint }: LeafletMouseEvent): void => {
      const pixels = places.map((place) => map.latLngToLayerPoint(place));
      const index = nearest(pixels, layerPoint, reachPixels);
      if (index !== null) onCursor(index);
    };
    draw();
    map.on("zoomend", draw);
    map.on("mousemove", look);
    map.on("click", look);
    return () => {
      map.off("zoomend", draw);
      map.off("mousemove", look);
      map.off("click", look);
      line.remove();
      heads.remove();
    };
  }, [map, track]);
  return null;
}

/** On the turn of the earth that is in view. */
function projectTrack(map: LeafletMap, track: readonly Position[]): LatLng[] {
  const line = onward(track.map(({ lnglat }) => lnglat));
  const first = line[0]?.[0] ?? 0;
  const turn = turnedTo(first, map.getCenter().lng) - first;
  return line.map(([longitude, latitude]) => new LatLng(latitude, longitude + turn));
}

/** A map of one device: where it is, where it has been, and the areas that it must not leave or enter. */
import { LatLngBounds, type Map as LeafletMap, type LeafletMouseEvent } from "leaflet";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../i18n.js";
import { Areas, type Sketch } from "./Areas.js";
import { LandMap } from "./LandMap.js";
import { Pin } from "./Pin.js";
import type { Scope } from "./placed-device.js";
import type { LngLat } from "./places.js";
import { boxAround, wrapped } from "./places.js";
import { TrackLine } from "./TrackLine.js";
import type { Position } from "./track.js";

interface DeviceMapProps {
  readonly height: string;
  readonly place: LngLat | null;
  /** Where it is about to be put. */
  readonly draft: LngLat | null;
  readonly track: readonly Position[];
  /** The position of the track that is looked at. */
  readonly cursor: number | null;
  readonly scopes: readonly Scope[];
  /** An area that is being drawn. */
  readonly sketch: Sketch | null;
  /** A click says where something is. */
  readonly isPicking: boolean;
  /** Another one shows all that is on the map. */
  readonly fitKey: string;
  /** @param reach metres on the ground that are well seen on the map */
  onPick(place: LngLat, reach: number): void;
  onCursor(index: number): void;
  readonly over?: ComponentChildren;
}

const firstZoomMax = 14;
const reachPixels = 60;

export function DeviceMap(props: DeviceMapProps) {
  const { height, place, draft, track, cursor, scopes, sketch, over } = props;
  const [first, last] = [track[0]?.lnglat, track.at(-1)?.lnglat];
  const isLast = place !== null && String(place) === String(last);
  const looked = cursor === null ? undefined : track[cursor];
  return (
    <LandMap label={t("place.map")} height={height} view={null} isPart over={over}>
      {(map) => (
        <>
          <FitAll map={map} {...props} />
          <Picking map={map} {...props} />
          <Areas map={map} scopes={scopes} sketch={sketch} />
          <TrackLine map={map} track={track} onCursor={props.onCursor} />
          {place !== null && !isLast && <Pin map={map} place={place} kind="here" text={t("place.here")} />}
          {track.length > 1 && <Pin map={map} place={first} kind="first" text={t("place.first")} />}
          {last !== undefined && (
            <Pin map={map} place={last} kind="last" text={t(isLast ? "place.lastHere" : "place.last")} />
          )}
          {draft !== null && <Pin map={map} place={draft} kind="draft" text={t("place.draft")} />}
          {looked !== undefined && <Pin map={map} place={looked.lnglat} kind="cursor" text="" />}
        </>
      )}
    </LandMap>
  );
}

function FitAll({ map, place, track, scopes, fitKey }: DeviceMapProps & { readonly map: LeafletMap }) {
  useEffect(() => {
    const places = [
      ...(place === null ? [] : [place]),
      ...track.map(({ lnglat }) => lnglat),
      ...scopes.flatMap((one) => ("points" in one ? one.points : [one.center])),
    ];
    const box = boxAround(places.map(([longitude, latitude]) => ({ longitude, latitude })));
    if (box === null) return;
    map.fitBounds(new LatLngBounds([box.south, box.west], [box.north, box.east]), {
      padding: [40, 40],
      maxZoom: firstZoomMax,
      animate: false,
    });
  }, [map, fitKey]);
  return null;
}

function Picking({ map, isPicking, onPick }: DeviceMapProps & { readonly map: LeafletMap }) {
  useEffect(() => {
    if (!isPicking) return;
    const pick = ({ latlng, containerPoint: { x, y } }: LeafletMouseEvent): void => {
      const reach = map.distance(latlng, map.containerPointToLatLng([x + reachPixels, y]));
      onPick([wrapped(latlng.lng), Math.max(-90, Math.min(latlng.lat, 90))], reach);
    };
    map.on("click", pick);
    map.getContainer().classList.add("picking");
    return () => {
      map.off("click", pick);
      map.getContainer().classList.remove("picking");
    };
  });
  return null;
}

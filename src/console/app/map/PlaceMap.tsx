/** A map of the places of devices that a query selects, on the map page or in a panel. */
import { useSignal } from "@preact/signals";
import { LatLngBounds, type Map as LeafletMap } from "leaflet";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Clusters } from "./Clusters.js";
import { LandMap, viewNow } from "./LandMap.js";
import {
  type Bounds,
  boxOfAll,
  type Cluster,
  formatBbox,
  type MapView,
  type Places,
  wholeEarth,
  zoomMax,
} from "./places.js";

interface PlaceMapProps {
  /** What says where devices are, as GET /device_places answers. */
  clusters(bbox: string, zoom: number, signal: AbortSignal): Promise<Places>;
  /** Identifies the query: a change fetches the places again. */
  readonly source: string;
  /** Changes with each refresh by hand, which sends the same query again. */
  readonly round?: number;
  /** While nobody can see it, nothing is asked. */
  readonly isVisible?: boolean;
  /** A length of CSS. */
  readonly height: string;
  /** What it shows; null: all devices, as soon as it is known where they are. */
  readonly view?: MapView | null;
  readonly isPart?: boolean;
  readonly label?: string;
  /** The device that is looked at. */
  readonly chosen?: number | null;
  /** A device was chosen, by its record id. */
  onOpen?(deviceIntID: number): void;
  onView?(view: MapView): void;
  /** Receives the places in view. */
  onPlaces?(places: Places): void;
  /** Shown where no device has a place at all. */
  readonly empty?: ComponentChildren;
}

const restMs = 150;
const refreshMs = 15_000;
/** The closest zoom of the first view: a single device is still shown with its surroundings. */
const firstZoomMax = 12;
const stepIn = 2;

export function PlaceMap(props: PlaceMapProps) {
  const { clusters, source, height, view = null, isPart = false, label, onView, empty } = props;
  const { isVisible = true, round = 0 } = props;
  // If the view is given, the box around all devices is not needed.
  const isFitWanted = useRef(view === null);
  const all = useQuery(isVisible ? `all ${source} ${round}` : null, async (signal) => {
    const { total } = await clusters(wholeEarth, 0, signal);
    const isBoxWanted = isFitWanted.current && total > 0;
    return { total, box: isBoxWanted ? await boxOfAll((bbox, zoom) => clusters(bbox, zoom, signal)) : null };
  });
  const isEmpty = all.data?.total === 0;
  return (
    <LandMap
      label={label ?? t("map.label")}
      height={height}
      view={view}
      isPart={isPart}
      {...(onView === undefined ? {} : { onView })}
      over={isEmpty && <div class="map-over notice">{empty ?? t("map.none")}</div>}
    >
      {(map) => (
        <>
          <Fit map={map} box={view === null ? (all.data?.box ?? null) : null} />
          <ShownPlaces key={source} map={map} {...props} />
        </>
      )}
    </LandMap>
  );
}

/** Shows all devices once. */
function Fit({ map, box }: { readonly map: LeafletMap; readonly box: Bounds | null }) {
  const isDone = useRef(false);
  useEffect(() => {
    if (box === null || isDone.current) return;
    isDone.current = true;
    const { south, west, north, east } = box;
    map.fitBounds(new LatLngBounds([south, west], [north, east]), {
      padding: [48, 48],
      maxZoom: firstZoomMax,
      animate: false,
    });
  }, [map, box]);
  return null;
}

interface ShownPlacesProps extends PlaceMapProps {
  readonly map: LeafletMap;
}

/** The places in view, fetched when the map no longer moves. */
function ShownPlaces(props: ShownPlacesProps) {
  const { map, clusters, source, round = 0, isVisible = true, chosen = null, onOpen, onPlaces } = props;
  const asked = useSignal(readMapBounds(map));
  const crowd = useSignal<Cluster | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        crowd.value = null;
        asked.value = readMapBounds(map);
      }, restMs);
    };
    // It may have been moved since this was drawn.
    asked.value = readMapBounds(map);
    map.on("moveend resize", follow);
    return () => {
      clearTimeout(timer);
      map.off("moveend resize", follow);
    };
  }, [map]);
  const { bbox, zoom } = asked.value;
  const question = isVisible ? `${source} ${bbox} ${zoom} ${round}` : null;
  const places = useQuery(question, (signal) => clusters(bbox, zoom, signal), refreshMs);
  useEffect(() => {
    if (places.data !== undefined) onPlaces?.(places.data);
  }, [places.data]);

  function open(cluster: Cluster): void {
    if (cluster.deviceIntID !== null) onOpen?.(cluster.deviceIntID);
    else if (map.getZoom() >= zoomMax) crowd.value = cluster;
    else {
      // The mark goes away with the view.
      map.getContainer().focus({ preventScroll: true });
      map.setView([cluster.latitude, cluster.longitude], Math.min(map.getZoom() + stepIn, zoomMax));
    }
  }
  const count = crowd.value?.count;
  return (
    <>
      <Clusters map={map} clusters={places.data?.clusters ?? []} chosen={chosen} onCluster={open} />
      {isVisible && (
        <div class="map-told" role="status">
          <QueryResult asked={places}>
            {({ isTruncated }) => (
              <>
                {isTruncated && <p class="notice warn">{t("map.truncated")}</p>}
                {count !== undefined && <p class="notice">{t("map.crowd", { count })}</p>}
              </>
            )}
          </QueryResult>
        </div>
      )}
    </>
  );
}

function readMapBounds(map: LeafletMap): { readonly bbox: string; readonly zoom: number } {
  const bounds = map.getBounds();
  const box = {
    west: bounds.getWest(),
    south: bounds.getSouth(),
    east: bounds.getEast(),
    north: bounds.getNorth(),
  };
  return { bbox: formatBbox(box), zoom: viewNow(map).zoom };
}

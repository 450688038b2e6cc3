/** A map of the land that is moved and zoomed by mouse, fingers and keys. What is on it, its children draw. */
import { useSignal } from "@preact/signals";
import { Map as LeafletMap } from "leaflet";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { me } from "../session.js";
import { isDark } from "../theme.js";
import { LandLayer } from "./land-layer.js";
import { type MapView, viewText, zoomMax } from "./places.js";
import { ScaleBar } from "./ScaleBar.js";
import { addTiles } from "./tile-layer.js";

interface LandMapProps {
  readonly label: string;
  /** A length of CSS. */
  readonly height: string;
  /** What it shows at first, and whenever another is given. */
  readonly view: MapView | null;
  /** Among other things on a page the wheel scrolls the page, until somebody has clicked on the map. */
  readonly isPart?: boolean;
  onView?(view: MapView): void;
  /** Drawn over it. */
  readonly over?: ComponentChildren;
  readonly children: (map: LeafletMap) => ComponentChildren;
}

const tilePixels = 256;
const zoomMinMax = 2;
const everything: MapView = { latitude: 25, longitude: 10, zoom: 1 };

export function LandMap({ label, height, view, isPart = false, onView, over, children }: LandMapProps) {
  const place = useRef<HTMLDivElement>(null);
  const made = useSignal<LeafletMap | null>(null);
  const isIncomplete = useSignal(false);
  // The page of a share has no session, whose tiles these are.
  const tiles = me.value?.mapTiles ?? null;
  const listener = useRef(onView);
  listener.current = onView;

  useEffect(() => {
    if (place.current === null) return;
    const map = createMap(place.current, view ?? everything, isPart);
    const land = new LandLayer().addTo(map);
    const leaveTiles =
      tiles === null
        ? null
        : addTiles(map, tiles.dark, (isNow) => {
            isIncomplete.value = isNow;
          });
    map.on("moveend", () => listener.current?.(viewNow(map)));
    const seen = new ResizeObserver(() => map.invalidateSize({ animate: false }));
    seen.observe(place.current);
    let isFirst = true;
    const leaveTheme = isDark.subscribe(() => {
      if (!isFirst) land.repaint();
      isFirst = false;
    });
    made.value = map;
    return () => {
      made.value = null;
      leaveTheme();
      leaveTiles?.();
      seen.disconnect();
      map.remove();
    };
  }, []);

  const wanted = view === null ? null : viewText(view);
  useEffect(() => {
    const map = made.peek();
    if (map === null || view === null || viewText(viewNow(map)) === wanted) return;
    map.setView([view.latitude, view.longitude], view.zoom);
  }, [wanted]);

  const map = made.value;
  return (
    <div class="map" style={{ height }}>
      {/* biome-ignore lint/a11y/useSemanticElements: it is no group of a form */}
      <div class="map-place" ref={place} role="group" aria-label={label} />
      {map !== null && (
        <>
          {children(map)}
          <div class="map-zoom">
            <button type="button" class="button" aria-label={t("map.in")} onClick={() => map.zoomIn()}>
              +
            </button>
            <button type="button" class="button" aria-label={t("map.out")} onClick={() => map.zoomOut()}>
              −
            </button>
          </div>
          <p class="map-foot">
            <ScaleBar map={map} />
            {isIncomplete.value && <span role="status">{t("map.noTiles")}</span>}
            {tiles !== null && <span>{t("map.tiles", { source: tiles.attribution })}</span>}
            {(tiles === null || isIncomplete.value) && <span>{t("map.source")}</span>}
          </p>
        </>
      )}
      {over}
    </div>
  );
}

function createMap(place: HTMLElement, view: MapView, isPart: boolean): LeafletMap {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  // The earth is about as wide as the map, at least.
  const zoomMin = Math.min(zoomMinMax, Math.max(0, Math.floor(Math.log2(place.clientWidth / tilePixels))));
  const map = new LeafletMap(place, {
    attributionControl: false,
    zoomControl: false,
    minZoom: zoomMin,
    maxZoom: zoomMax,
    zoomAnimation: !isStill,
    fadeAnimation: false,
    inertia: !isStill,
    scrollWheelZoom: !isPart,
    // Where a click says something, two of them say it twice.
    doubleClickZoom: !isPart,
    worldCopyJump: true,
    maxBounds: [
      [-85.05, Number.NEGATIVE_INFINITY],
      [85.05, Number.POSITIVE_INFINITY],
    ],
    maxBoundsViscosity: 1,
    center: [view.latitude, view.longitude],
    zoom: Math.max(view.zoom, zoomMin),
  });
  if (isPart) {
    map.on("focus", () => map.scrollWheelZoom.enable());
    map.on("blur", () => map.scrollWheelZoom.disable());
  }
  return map;
}

export function viewNow(map: LeafletMap): MapView {
  const { lat, lng } = map.getCenter();
  return { latitude: lat, longitude: lng, zoom: map.getZoom() };
}

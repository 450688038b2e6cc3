/** Tiles of the deployment's map, which its service hands on. They lie over the outlines, which stay where one is missing. */
import { type Map as LeafletMap, type TileErrorEvent, type TileEvent, TileLayer } from "leaflet";
import { api } from "../base.js";
import type { MapTiles } from "../session.js";

const retryMs = 30_000;

/**
 * @param onIncomplete receives whether tiles in view have failed; they are requested again from time to time
 * @returns ends it, before the map is removed
 */
export function addTiles(
  map: LeafletMap,
  dark: MapTiles["dark"],
  onIncomplete: (isNow: boolean) => void,
): () => void {
  const failed = new Set<HTMLImageElement>();
  const notify = (): void => onIncomplete(failed.size > 0);
  const layer = new TileLayer(`${api}/map_tiles/{z}/{x}/{y}`, {
    className: `map-tiles ${dark}`,
    updateWhenZooming: false,
    keepBuffer: 2,
  });
  layer.on("tileerror", ({ tile }: TileErrorEvent) => {
    failed.add(tile);
    notify();
  });
  const settle = ({ tile }: TileEvent): void => {
    failed.delete(tile);
    notify();
  };
  layer.on("tileload", settle);
  layer.on("tileunload", settle);
  // One that is asked for once more when the map is zoomed is given up without a word of unloading.
  layer.on("tileabort", settle);
  const timer = setInterval(() => {
    for (const tile of failed) {
      const { src } = tile;
      // The same address once more is another request.
      tile.src = src;
    }
  }, retryMs);
  layer.addTo(map);
  return () => {
    clearInterval(timer);
    layer.off();
  };
}

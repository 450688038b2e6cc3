/** Tiles that are drawn here, of the outlines that came with the console: a map asks no other host for anything. */

import coarseUrl from "tidemark:land-coarse";
import fineUrl from "tidemark:land-fine";
import { type Coords, GridLayer, type GridLayerOptions } from "leaflet";
import { clipped, meets, mercatorY, type Outline, unpacked } from "./land.js";

/** From this zoom on the finer outlines show. */
const fineZoom = 4;
/** Beyond a tile's edge, so that no line along it is seen; in pixels. */
const margin = 4;
/** Degrees between the lines of the net, by zoom. */
const steps = [
  30, 30, 15, 10, 10, 5, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.01, 0.005, 0.002, 0.001, 0.001,
] as const;

async function load(url: string): Promise<readonly Outline[]> {
  const response = await fetch(new URL(url, import.meta.url));
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return unpacked(new Uint8Array(await response.arrayBuffer()));
}

const loaded: { coarse: readonly Outline[]; fine: readonly Outline[] } = { coarse: [], fine: [] };
const asked = new Map<string, Promise<void>>();

/** Once; a failed one may be asked for again. */
function fetchOutlines(detail: "coarse" | "fine"): Promise<void> {
  const url = detail === "coarse" ? coarseUrl : fineUrl;
  let asking = asked.get(url);
  if (asking === undefined) {
    asking = load(url).then(
      (outlines) => {
        loaded[detail] = outlines;
      },
      () => {
        asked.delete(url);
      },
    );
    asked.set(url, asking);
  }
  return asking;
}

interface Colors {
  readonly sea: string;
  readonly land: string;
  readonly coast: string;
  readonly net: string;
}

function colorsNow(): Colors {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  return { sea: color("--sea"), land: color("--land"), coast: color("--coast"), net: color("--net") };
}

export class LandLayer extends GridLayer {
  #colors = colorsNow();
  readonly #awaited = new Set<string>();

  constructor(options: GridLayerOptions = {}) {
    super({ tileSize: 256, updateWhenZooming: false, keepBuffer: 2, ...options });
  }

  /** After the theme has changed. */
  repaint(): void {
    this.#colors = colorsNow();
    this.redraw();
  }

  override createTile({ x, y, z }: Coords): HTMLElement {
    const tile = document.createElement("canvas");
    const size = this.getTileSize().x;
    const ratio = Math.min(devicePixelRatio, 2);
    tile.width = tile.height = size * ratio;
    this.#want(z);
    const context = tile.getContext("2d");
    if (context === null) return tile;
    context.scale(ratio, ratio);
    const outlines = z >= fineZoom && loaded.fine.length > 0 ? loaded.fine : loaded.coarse;
    const columns = 2 ** z;
    const column = ((x % columns) + columns) % columns;
    drawTile(context, this.#colors, outlines, { column, row: y, zoom: z, size });
    return tile;
  }

  /** Draws anew when outlines come that this zoom shows. */
  #want(zoom: number): void {
    for (const detail of zoom >= fineZoom ? (["coarse", "fine"] as const) : (["coarse"] as const)) {
      if (loaded[detail].length > 0 || this.#awaited.has(detail)) continue;
      this.#awaited.add(detail);
      void fetchOutlines(detail).then(() => {
        this.#awaited.delete(detail);
        if (loaded[detail].length > 0) this.redraw();
      });
    }
  }
}

interface TilePlace {
  readonly column: number;
  readonly row: number;
  readonly zoom: number;
  readonly size: number;
}

function drawTile(
  context: CanvasRenderingContext2D,
  colors: Colors,
  outlines: readonly Outline[],
  place: TilePlace,
): void {
  const { column, row, zoom, size } = place;
  const pixels = size * 2 ** zoom;
  context.fillStyle = colors.sea;
  context.fillRect(0, 0, size, size);
  const box = {
    west: (column * size - margin) / pixels,
    east: ((column + 1) * size + margin) / pixels,
    north: (row * size - margin) / pixels,
    south: ((row + 1) * size + margin) / pixels,
  };
  const [fill, coast] = [new Path2D(), new Path2D()];
  // Land beyond the antimeridian comes in again on the other side.
  for (const turn of [-1, 0, 1]) {
    const turned = { ...box, west: box.west + turn, east: box.east + turn };
    for (const { points, box: own } of outlines) {
      if (meets(own, turned)) trace(clipped(points, turned), fill, coast, place, pixels, turn);
    }
  }
  context.fillStyle = colors.land;
  // Lakes are rings within rings.
  context.fill(fill, "evenodd");
  context.lineWidth = 1;
  context.strokeStyle = colors.net;
  context.stroke(createNet(place, pixels));
  context.strokeStyle = colors.coast;
  context.stroke(coast);
}

function trace(
  points: readonly number[],
  fill: Path2D,
  coast: Path2D,
  { column, row, size }: TilePlace,
  pixels: number,
  turn: number,
): void {
  const { length } = points;
  for (let i = 0; i <= length; i += 2) {
    const at = i % length;
    const before = (i + length - 2) % length;
    const [x = 0, y = 0] = [points[at], points[at + 1]];
    const [left, top] = [(x - turn) * pixels - column * size, y * pixels - row * size];
    if (i === 0) fill.moveTo(left, top);
    else fill.lineTo(left, top);
    // Where a line is closed over the pole, or along the antimeridian to it, there is no coast.
    const isEdge = y >= 1 || (Number.isInteger(x) && points[before] === x);
    if (i === 0 || isEdge) coast.moveTo(left, top);
    else coast.lineTo(left, top);
  }
  fill.closePath();
}

/** Meridians and parallels. */
function createNet({ column, row, zoom, size }: TilePlace, pixels: number): Path2D {
  const step = steps[Math.min(zoom, steps.length - 1)] ?? 30;
  const net = new Path2D();
  const crisp = (pixel: number): number => Math.round(pixel) + 0.5;
  const count = Math.round(180 / step);
  const west = (column * size) / pixels;
  for (
    let i = Math.ceil((west * 360 - 180) / step);
    i * step <= ((column + 1) * size * 360) / pixels - 180;
    i++
  ) {
    const left = crisp(((i * step) / 360 + 0.5) * pixels - column * size);
    net.moveTo(left, 0);
    net.lineTo(left, size);
  }
  for (let i = -Math.floor(count / 2); i <= count / 2; i++) {
    const top = mercatorY(i * step) * pixels - row * size;
    if (top < 0 || top > size) continue;
    net.moveTo(0, crisp(top));
    net.lineTo(size, crisp(top));
  }
  return net;
}

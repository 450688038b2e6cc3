/** Zooms by wheel and pinch, and pans. The scale follows at once; the new range is reported when the movement stops. */
import type uPlot from "uplot";
import { asOneGesture } from "../router.js";
import { withinTimes } from "./times.js";

/** The new range is reported after this long without movement. */
const restMs = 120;
/** Pixels. Without a GPU a browser draws a line of one pixel much faster than one that is wider: while it moves. */
export const lineWidth = { still: 1.5, moving: 1 } as const;
const shortestSeconds = 0.01;

export interface Gestures {
  /** Smaller factors than 1 lead closer. @param at what stays where it is, seconds since 1970 */
  zoom(at: number, factor: number): void;
  leave(): void;
}

/** @param onRange seconds since 1970 */
export function followGestures(plot: uPlot, onRange: (from: number, to: number) => void): Gestures {
  const { over } = plot;
  const touches = new Map<number, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function show(first: number, last: number): void {
    if (!(last - first >= shortestSeconds)) return;
    const [from, to] = withinTimes(first, last);
    setLineWidth(plot, lineWidth.moving);
    plot.setScale("x", { min: from, max: to });
    clearTimeout(timer);
    timer = setTimeout(() => {
      setLineWidth(plot, lineWidth.still);
      plot.redraw(false);
      asOneGesture(() => onRange(from, to));
    }, restMs);
  }
  const range = (): [number, number] => [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 1];

  function onWheel(event: WheelEvent): void {
    const isZoom = event.ctrlKey || event.metaKey;
    const along = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
    // Without a key the wheel belongs to the page.
    if (!isZoom && (!event.shiftKey || along === 0)) return;
    event.preventDefault();
    const [from, to] = range();
    if (!isZoom) {
      const by = (along / over.clientWidth) * (to - from);
      show(from + by, to + by);
      return;
    }
    const at = plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
    zoom(at, Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))));
  }
  function zoom(at: number, factor: number): void {
    const [from, to] = range();
    show(at - (at - from) * factor, at + (to - at) * factor);
  }

  function onPointerDown(event: PointerEvent): void {
    if (event.pointerType === "touch") touches.set(event.pointerId, event.clientX);
  }
  function onPointerMove(event: PointerEvent): void {
    if (!touches.has(event.pointerId)) return;
    const before = [...touches.values()];
    touches.set(event.pointerId, event.clientX);
    const after = [...touches.values()];
    const [a, b] = before;
    const [c, d] = after;
    if (a === undefined || c === undefined) return;
    const [from, to] = range();
    const left = over.getBoundingClientRect().left;
    const timeAt = (x: number): number => plot.posToVal(x - left, "x");
    if (b === undefined || d === undefined) {
      const by = timeAt(a) - timeAt(c);
      show(from + by, to + by);
      return;
    }
    const factor = Math.abs(a - b) / Math.max(1, Math.abs(c - d));
    const middle = timeAt((c + d) / 2);
    const moved = timeAt((a + b) / 2) - middle;
    show(middle + moved - (middle - from) * factor, middle + moved + (to - middle) * factor);
  }
  function onPointerEnd(event: PointerEvent): void {
    touches.delete(event.pointerId);
  }

  over.addEventListener("wheel", onWheel, { passive: false });
  over.addEventListener("pointerdown", onPointerDown);
  over.addEventListener("pointermove", onPointerMove);
  for (const name of ["pointerup", "pointercancel", "pointerleave"] as const)
    over.addEventListener(name, onPointerEnd);
  return { zoom, leave: () => clearTimeout(timer) };
}

/** Edges of bands have no line. */
function setLineWidth({ series }: uPlot, width: number): void {
  for (const one of series) if (one.width !== undefined && one.width > 0) one.width = width;
}

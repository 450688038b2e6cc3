/** What stands on a chart beside its lines, drawn on the same canvas. */
import type uPlot from "uplot";
import type { Tone } from "../shell/Status.js";
import { clockChanges } from "./clock-changes.js";

/** A dashed rule across the chart. */
export interface Limit {
  readonly value: number;
  /** Of the eight series colours. */
  readonly color: number;
  readonly axis?: "left" | "right";
}

/** Something that happened: a tick on the axis of time, whose text stands in the readout. */
export interface Mark {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly tone: Tone;
  readonly text: string;
}

export interface Decorations {
  readonly limits?: readonly Limit[];
  readonly marks?: readonly Mark[];
  /** From here on a window has not ended yet: hatched. Milliseconds since 1970. */
  readonly unfinishedFrom?: number | null;
}

const hatchPixels = 7;
const markPixels = 5;

/** Under the lines: where the clock changes, what is unfinished. */
export function drawUnder(
  plot: uPlot,
  { unfinishedFrom = null }: Decorations,
  zone: string,
  color: (name: string) => string,
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const x = (time: number): number => plot.valToPos(time / 1000, "x", true);
  const { min, max } = plot.scales.x ?? {};
  if (min == null || max == null) return;
  clipped(plot, () => {
    ctx.strokeStyle = color("--edge");
    ctx.lineWidth = ratio;
    ctx.setLineDash([ratio, 4 * ratio]);
    ctx.fillStyle = color("--muted");
    ctx.font = `${11 * ratio}px sans-serif`;
    for (const { time, minutes } of clockChanges(zone, min * 1000, max * 1000)) {
      const at = Math.round(x(time));
      stroke(ctx, [at, bbox.top], [at, bbox.top + bbox.height]);
      ctx.fillText(
        `${minutes > 0 ? "+" : "−"}${Math.abs(minutes) / 60} h`,
        at + 4 * ratio,
        bbox.top + 12 * ratio,
      );
    }
    if (unfinishedFrom === null || unfinishedFrom >= max * 1000) return;
    const from = Math.max(bbox.left, x(unfinishedFrom));
    ctx.setLineDash([]);
    ctx.strokeStyle = color("--hair");
    ctx.beginPath();
    ctx.rect(from, bbox.top, bbox.left + bbox.width - from, bbox.height);
    ctx.clip();
    const step = hatchPixels * ratio;
    for (let at = from - bbox.height; at < bbox.left + bbox.width; at += step) {
      stroke(ctx, [at, bbox.top + bbox.height], [at + bbox.height, bbox.top]);
    }
  });
}

/** Over the lines: limits, and what happened. */
export function drawOver(
  plot: uPlot,
  { limits = [], marks = [] }: Decorations,
  color: (name: string) => string,
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  clipped(plot, () => {
    ctx.lineWidth = ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    for (const { value, color: series, axis } of limits) {
      const scale = axis === "right" ? "right" : "y";
      if (plot.scales[scale]?.min == null) continue;
      const at = Math.round(plot.valToPos(value, scale, true));
      ctx.strokeStyle = color(`--series-${series}`);
      stroke(ctx, [bbox.left, at], [bbox.left + bbox.width, at]);
    }
    ctx.setLineDash([]);
    const bottom = bbox.top + bbox.height;
    for (const { time, tone } of marks) {
      const at = plot.valToPos(time / 1000, "x", true);
      ctx.fillStyle = color(tone === "idle" ? "--muted" : `--${tone}`);
      ctx.beginPath();
      ctx.moveTo(at, bottom - 2 * markPixels * ratio);
      ctx.lineTo(at - markPixels * ratio, bottom);
      ctx.lineTo(at + markPixels * ratio, bottom);
      ctx.fill();
    }
  });
}

/** What is marked within a few pixels of a time. */
export function marksNear(marks: readonly Mark[], time: number, msPerPixel: number): Mark[] {
  return marks.filter((mark) => Math.abs(mark.time - time) <= (markPixels + 1) * msPerPixel);
}

function clipped({ ctx, bbox }: uPlot, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw();
  ctx.restore();
}

function stroke(ctx: CanvasRenderingContext2D, from: [number, number], to: [number, number]): void {
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
}

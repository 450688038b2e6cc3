/** What stands on a chart beside its lines, drawn on the same canvas. */
import type uPlot from "uplot";
import { isOutlined, shapes, type Tone } from "../shell/Status.js";
import { clockChanges } from "./zone.js";

/** A dashed rule across the chart. */
export interface Limit {
  readonly value: number;
  /** Index of one of the eight series colours. */
  readonly color: number;
  readonly axis?: "left" | "right";
  /** Stands on the rule, or at the edge beyond which it is. */
  readonly text?: string;
}

/** Something that happened: a shape on the axis of time, whose text stands in the readout. */
export interface Mark {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly tone: Tone;
  readonly text: string;
}

/** Something that lasted: a band from its begin to its end. */
export interface Span {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Null: it goes on. */
  readonly to: number | null;
  readonly tone: Tone;
  /** Drawn on the band if the band is wide enough. */
  readonly word: string;
  /** Stands in the readout. */
  readonly text: string;
}

export interface Decorations {
  readonly limits?: readonly Limit[];
  readonly marks?: readonly Mark[];
  readonly spans?: readonly Span[];
  /** From here on a window has not ended yet: hatched. Milliseconds since 1970. */
  readonly unfinishedFrom?: number | null;
}

type ColorOf = (name: string) => string;

/** Where is drawn: pixels of the page, from the upper left corner of the plot. */
interface Area {
  readonly plot: uPlot;
  readonly ctx: CanvasRenderingContext2D;
  readonly color: ColorOf;
  readonly width: number;
  readonly height: number;
  x(time: number): number;
}

const hatchPixels = 7;
/** Width and height of a shape. */
const shapePixels = 10;
/** The shortest one is seen still. */
const spanPixelsMin = 2;
const reachPixels = shapePixels / 2 + 1;

/** On a longer axis changes of the clock stand too close to be read. */
const longestSeconds = 400 * 86_400;

/** Under the lines: what lasted, where the clock changes, what is unfinished. */
export function drawUnder(
  plot: uPlot,
  { unfinishedFrom = null, spans = [] }: Decorations,
  zone: string,
  color: ColorOf,
): void {
  const { min, max } = plot.scales.x ?? {};
  if (min == null || max == null) return;
  draw(plot, color, (area) => {
    for (const span of spans) drawSpan(area, span);
    const isReadable = max - min <= longestSeconds;
    for (const { time, minutes } of isReadable ? clockChanges(zone, min * 1000, max * 1000) : []) {
      const at = area.x(time);
      strike(area, "--edge", [1, 4], at, 0, at, area.height);
      write(area, "--muted", `${minutes > 0 ? "+" : "−"}${Math.abs(minutes) / 60} h`, at + 4, 12);
    }
    if (unfinishedFrom !== null && unfinishedFrom < max * 1000) hatch(area, area.x(unfinishedFrom));
  });
}

/** Over the lines: limits, and what happened. */
export function drawOver(
  plot: uPlot,
  { limits = [], marks = [], spans = [] }: Decorations,
  color: ColorOf,
): void {
  draw(plot, color, (area) => {
    for (const limit of limits) drawLimit(area, limit);
    const begun = spans.map(({ from, tone }) => ({ time: from, tone }));
    const last = new Map<Tone, number>();
    // The worst lie on top.
    const order = (a: Pick<Mark, "time" | "tone">, b: typeof a): number =>
      Number(a.tone === "bad") - Number(b.tone === "bad") || a.time - b.time;
    for (const { time, tone } of [...marks, ...begun].sort(order)) {
      const at = area.x(time);
      // Shapes of the same tone that would overlap are drawn once.
      if (at - (last.get(tone) ?? Number.NEGATIVE_INFINITY) < reachPixels) continue;
      last.set(tone, at);
      drawShape(area, at, tone);
    }
  });
}

/** The marks within a few pixels of a time, the nearest first. */
export function marksNear(marks: readonly Mark[], time: number, msPerPixel: number): Mark[] {
  const distance = (mark: Mark): number => Math.abs(mark.time - time);
  return marks
    .filter((mark) => distance(mark) <= reachPixels * msPerPixel)
    .sort((a, b) => distance(a) - distance(b));
}

/** What lasted at a time, or nearly. */
export function spansAt(spans: readonly Span[], time: number, msPerPixel: number): Span[] {
  const reach = spanPixelsMin * msPerPixel;
  return spans.filter(
    ({ from, to }) => time >= from - reach && time <= (to ?? Number.POSITIVE_INFINITY) + reach,
  );
}

const toneInk = (tone: Tone): string => (isOutlined(tone) ? "--muted" : `--${tone}`);

function drawSpan(area: Area, { from, to, tone, word }: Span): void {
  const { ctx, width, height, color } = area;
  // What begins or ends far away is drawn by no browser.
  const start = Math.max(area.x(from), -spanPixelsMin);
  const end = to === null ? width + spanPixelsMin : Math.min(area.x(to), width + spanPixelsMin);
  const ink = toneInk(tone);
  ctx.fillStyle = `color-mix(in oklch, ${color(ink)} 14%, transparent)`;
  ctx.fillRect(start, 0, Math.max(spanPixelsMin, end - start), height);
  for (const at of [start, end]) strike(area, ink, [], at, 0, at, height);
  const first = Math.max(start, 0) + 4;
  if (first + ctx.measureText(word).width < Math.min(end, width)) write(area, ink, word, first, 12);
}

function hatch(area: Area, from: number): void {
  const { ctx, width, height } = area;
  ctx.beginPath();
  ctx.rect(from, 0, width - from, height);
  ctx.clip();
  for (let at = Math.max(from, 0) - height; at < width; at += hatchPixels)
    strike(area, "--hair", [], at, height, at + height, 0);
}

function drawLimit(area: Area, { value, color: series, axis, text }: Limit): void {
  const { plot, ctx, width, height } = area;
  const scale = axis === "right" ? "right" : "y";
  if (plot.scales[scale]?.min == null) return;
  const at = Math.round(plot.valToPos(value, scale));
  strike(area, `--series-${series}`, [6, 4], 0, at, width, at);
  if (text === undefined) return;
  const words = at < 0 ? `↑ ${text}` : at > height ? `↓ ${text}` : text;
  const baseline = Math.max(12, Math.min(height - 14, at - 4));
  write(area, "--ink", words, width - ctx.measureText(words).width - 4, baseline);
}

/** On the axis; whole also at its ends. */
function drawShape({ ctx, color, width, height }: Area, at: number, tone: Tone): void {
  if (at < 0 || at > width) return;
  const path = new Path2D(shapes[tone]);
  const left = Math.max(0, Math.min(width - shapePixels, at - shapePixels / 2));
  const [ink, paper] = [color(toneInk(tone)), color("--paper")];
  ctx.save();
  ctx.translate(left, height - shapePixels - 1);
  ctx.setLineDash([]);
  // What lies under it stays away from it.
  ctx.strokeStyle = paper;
  ctx.lineWidth = 3;
  ctx.stroke(path);
  ctx.fillStyle = isOutlined(tone) ? paper : ink;
  ctx.fill(path);
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1;
  ctx.stroke(path);
  ctx.restore();
}

function draw(plot: uPlot, color: ColorOf, decorate: (area: Area) => void): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const [width, height] = [bbox.width / ratio, bbox.height / ratio];
  ctx.save();
  ctx.translate(bbox.left, bbox.top);
  ctx.scale(ratio, ratio);
  ctx.beginPath();
  ctx.rect(0, 0, width, height);
  ctx.clip();
  ctx.font = "11px sans-serif";
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.lineWidth = 1;
  decorate({ plot, ctx, color, width, height, x: (time) => Math.round(plot.valToPos(time / 1000, "x")) });
  ctx.restore();
}

function strike(
  { ctx, color }: Area,
  ink: string,
  dash: number[],
  ...[fromX, fromY, toX, toY]: readonly [number, number, number, number]
): void {
  ctx.strokeStyle = color(ink);
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

/** Readable on whatever lies under it. */
function write({ ctx, color }: Area, ink: string, text: string, x: number, y: number): void {
  ctx.setLineDash([]);
  ctx.lineWidth = 3;
  ctx.strokeStyle = color("--paper");
  ctx.strokeText(text, x, y);
  ctx.lineWidth = 1;
  ctx.fillStyle = color(ink);
  ctx.fillText(text, x, y);
}

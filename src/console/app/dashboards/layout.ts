/** Where panels stand on a grid of twelve columns: none covers another, and none hangs in the air. Pure. */

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface Placed {
  readonly id: string;
  readonly layout: Box;
}

export const columns = 12;
export const [rowsMax, rowMax] = [100, 9999] as const;

const overlaps = (a: Box, b: Box): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/** The nearest box that fits into the grid. */
export function bounded({ x, y, w, h }: Box): Box {
  const width = Math.max(1, Math.min(columns, Math.round(w)));
  return {
    w: width,
    h: Math.max(1, Math.min(rowsMax, Math.round(h))),
    x: Math.max(0, Math.min(columns - width, Math.round(x))),
    y: Math.max(0, Math.min(rowMax, Math.round(y))),
  };
}

/** Moves one panel: panels in its way move down, then all panels move up as far as they can. */
export function placed<P extends Placed>(panels: readonly P[], id: string, box: Box): P[] {
  const wanted = bounded(box);
  const moved = panels.map((panel) => (panel.id === id ? { ...panel, layout: wanted } : panel));
  // The one that is moved has its place before all that begin in the same row or below.
  const order = [...moved].sort(
    (a, b) => a.layout.y - b.layout.y || Number(b.id === id) - Number(a.id === id) || a.layout.x - b.layout.x,
  );
  const settled = new Map<string, Box>();
  const target = order.find((panel) => panel.id === id);
  if (target !== undefined) settled.set(id, wanted);
  for (const panel of order) {
    if (panel.id !== id) settled.set(panel.id, lowered(panel.layout, [...settled.values()]));
  }
  return compacted(moved.map((panel) => ({ ...panel, layout: settled.get(panel.id) ?? panel.layout })));
}

function lowered(box: Box, others: readonly Box[]): Box {
  let found = box;
  for (;;) {
    const inWay = others.find((other) => overlaps(found, other));
    if (inWay === undefined) return found;
    found = { ...found, y: inWay.y + inWay.h };
  }
}

/** Each panel as high as it can be without another order. */
export function compacted<P extends Placed>(panels: readonly P[]): P[] {
  const settled = new Map<string, Box>();
  const order = [...panels].sort((a, b) => a.layout.y - b.layout.y || a.layout.x - b.layout.x);
  for (const { id, layout } of order) {
    const others = [...settled.values()];
    // Nothing is above the lowest edge of those that share a column with it, except in gaps that are too low.
    let y = 0;
    for (let inWay = others.find((other) => overlaps({ ...layout, y }, other)); inWay !== undefined; ) {
      y = inWay.y + inWay.h;
      inWay = others.find((other) => overlaps({ ...layout, y }, other));
    }
    settled.set(id, { ...layout, y });
  }
  return panels.map((panel) => ({ ...panel, layout: settled.get(panel.id) ?? panel.layout }));
}

/** The first free place of a size, from the top. */
export function freePlace(panels: readonly Placed[], [w, h]: readonly [number, number]): Box {
  const bottom = Math.max(0, ...panels.map(({ layout }) => layout.y + layout.h));
  for (let y = 0; y < bottom; y++) {
    for (let x = 0; x + w <= columns; x++) {
      const box = { x, y, w, h };
      if (!panels.some(({ layout }) => overlaps(box, layout))) return box;
    }
  }
  return { x: 0, y: bottom, w, h };
}

interface OnPhones extends Placed {
  readonly phone?: { readonly order: number; readonly h: number };
}

/** On a phone panels stand one below the other: by their own order there, else as they are read. */
export function phoneOrder<P extends OnPhones>(panels: readonly P[]): P[] {
  const reading = [...panels].sort((a, b) => a.layout.y - b.layout.y || a.layout.x - b.layout.x);
  const rank = new Map(reading.map(({ id }, i) => [id, i]));
  const readPhoneOrder = ({ id, phone }: P): number => phone?.order ?? rank.get(id) ?? 0;
  return reading.sort(
    (a, b) => readPhoneOrder(a) - readPhoneOrder(b) || (rank.get(a.id) ?? 0) - (rank.get(b.id) ?? 0),
  );
}

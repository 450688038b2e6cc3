/** Reads texts from one end of a range, step by step: each asks for as many as should fit, going by those before. */

import { textsBytes } from "../../lib/text-bytes.js";
import type { Columns } from "../series.js";
import type { FluxLimit } from "./flux.js";

/** How many are asked for before it is known how long they are. */
export const textsFirst = 256;
const textsLeast = 16;

/** How many more texts fit, if they are as long as those seen. */
export const textsExpected = (seen: { readonly points: number; readonly bytes: number }, left: number) =>
  seen.points === 0 ? textsFirst : Math.max(textsLeast, Math.ceil((left / seen.bytes) * seen.points));

/** How many texts are wanted, of how many bytes, from which end. */
export interface TextsWanted {
  readonly from: FluxLimit["from"];
  readonly points: number;
  readonly bytes: number;
}

/**
 * Goes on after `known`, the first texts, which are as many as were asked for and not cut.
 * @param read up to so many points and bytes after (or before) a time
 */
export async function gatherTexts(
  known: Columns | null,
  wanted: TextsWanted,
  read: (beyond: number | null, points: number, bytes: number) => Promise<Columns>,
): Promise<Columns> {
  const pieces: Columns[] = known === null ? [] : [known];
  const held = {
    points: known?.times.length ?? 0,
    bytes: known?.kind === "text" ? textsBytes(known.values) : 0,
  };
  let beyond = known === null ? null : findEnd(known, wanted.from);
  let cut = false;
  while (held.points < wanted.points && !cut) {
    const left = wanted.bytes - held.bytes;
    cut = left <= 0;
    if (cut) break;
    const asked = Math.min(wanted.points - held.points, textsExpected(held, left));
    const piece = await read(beyond, asked, left);
    if (piece.kind !== "text") return piece;
    pieces.push(piece);
    held.points += piece.times.length;
    held.bytes += textsBytes(piece.values);
    cut = piece.cut === true;
    if (piece.times.length < asked) break;
    beyond = findEnd(piece, wanted.from);
  }
  return joined(wanted.from === "newest" ? pieces.toReversed() : pieces, cut);
}

const findEnd = ({ times }: Columns, from: FluxLimit["from"]): number | null =>
  (from === "newest" ? times[0] : times.at(-1)) ?? null;

function joined(pieces: readonly Columns[], cut: boolean): Columns {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const times = new Float64Array(pieces.reduce((sum, piece) => sum + piece.times.length, 0));
  const values: string[] = [];
  let at = 0;
  for (const piece of pieces) {
    times.set(piece.times, at);
    at += piece.times.length;
    if (piece.kind === "text") for (const value of piece.values) values.push(value);
  }
  return { kind: "text", times, values, ...(cut ? { cut } : {}) };
}

import type { ExportDevice, ExportPiece, ExportPlan } from "./export-messages.js";
import { createRowWriter } from "./row-writers.js";

/** The next piece of a series, or null after its last; each series has one reader, which asks in order. */
type Pull = (series: number) => Promise<ExportPiece | null>;

const chunkCharacters = 128 * 1024;

/** The whole export as text, in chunks; while one piece is written, the next is on its way. */
export async function* writeRows(plan: ExportPlan, pull: Pull): AsyncGenerator<string> {
  const writer = createRowWriter(plan);
  let text = writer.head;
  for (const device of plan.devices) {
    const rows = plan.layout === "long" ? longRows(device) : wideRows(device);
    for await (const some of rows) {
      text += some;
      if (text.length < chunkCharacters) continue;
      yield text;
      text = "";
    }
  }
  if (text !== "") yield text;

  async function* longRows(device: ExportDevice): AsyncGenerator<string> {
    for (const point of device.points) {
      const row = writer.long(device, point);
      let ahead = pull(point.series);
      for (let piece = await ahead; piece !== null; piece = await ahead) {
        ahead = pull(point.series);
        const { times, values } = piece;
        let some = "";
        for (let i = 0; i < times.length; i++) {
          some += row(times[i] as number, values[i] as number | string);
          if (some.length < chunkCharacters) continue;
          yield some;
          some = "";
        }
        yield some;
      }
    }
  }

  async function* wideRows(device: ExportDevice): AsyncGenerator<string> {
    const row = writer.wide(device);
    const cursors = await Promise.all(device.points.map((point) => openCursor(pull, point.series)));
    const cells: (number | string | undefined)[] = [];
    let some = "";
    for (;;) {
      let time = Number.POSITIVE_INFINITY;
      for (const cursor of cursors) if (cursor.time < time) time = cursor.time;
      if (time === Number.POSITIVE_INFINITY) break;
      for (const [i, cursor] of cursors.entries()) {
        cells[i] = cursor.time === time ? cursor.value : undefined;
        if (cursor.time === time && !cursor.step()) await cursor.refill();
      }
      some += row(time, cells);
      if (some.length < chunkCharacters) continue;
      yield some;
      some = "";
    }
    yield some;
  }
}

/** One series among those that are merged by time. */
interface Cursor {
  /** Infinity after the last point. */
  time: number;
  value: number | string | undefined;
  /** Moves to the next point of the piece; false if another piece is needed. */
  step(): boolean;
  refill(): Promise<void>;
}

async function openCursor(pull: Pull, series: number): Promise<Cursor> {
  let piece: ExportPiece | null = null;
  let ahead = pull(series);
  let at = 0;
  const cursor: Cursor = {
    time: Number.POSITIVE_INFINITY,
    value: undefined,
    step: () => {
      at++;
      if (piece === null || at >= piece.times.length) return false;
      cursor.time = piece.times[at] as number;
      cursor.value = piece.values[at];
      return true;
    },
    refill: async () => {
      piece = await ahead;
      if (piece !== null) ahead = pull(series);
      at = -1;
      if (cursor.step()) return;
      cursor.time = Number.POSITIVE_INFINITY;
      cursor.value = undefined;
    },
  };
  await cursor.refill();
  return cursor;
}

/** Brings a batch of lines into InfluxDB although some of its points will never be taken. */

import type { RefusedPoint, SeriesRef } from "../series.js";
import type { LinesRefused } from "./client.js";
import { explode, type InfluxLine } from "./lines.js";
import { influxName } from "./names.js";

const reasonCharsMax = 1000;

/** Sends a body of lines; undefined when all of them were stored. */
type SendLines = (body: string) => Promise<LinesRefused | undefined>;

/**
 * Stores every point that the server takes and returns the others with the reason. Lines are sent again in ever smaller
 * groups, which is safe because writing a point twice changes nothing.
 * @throws whatever `send` throws; some lines may be stored by then.
 */
export async function writeAroundBadLines(
  send: SendLines,
  lines: readonly InfluxLine[],
  nodeNumber: number,
): Promise<RefusedPoint[]> {
  if (lines.length === 0) return [];
  const answer = await send(lines.map((line) => line.text).join("\n"));
  if (!answer) return [];
  const single = lines.every((line) => line.points.length === 1);
  if (single && (lines.length === 1 || droppedBy(answer) === lines.length))
    return refuse(lines, answer.message);
  const groups = groupLines(explode(lines, nodeNumber), lines, answer);
  const refused: RefusedPoint[] = [];
  for (const group of groups) refused.push(...(await writeAroundBadLines(send, group, nodeNumber)));
  return refused;
}

/** Smaller groups: the lines that the answer names and the rest, or else two halves. */
function groupLines(
  exploded: readonly InfluxLine[],
  lines: readonly InfluxLine[],
  answer: LinesRefused,
): readonly InfluxLine[][] {
  if (lines.length > 1 && answer.status === 400) {
    // The names are those of the lines as they were sent.
    const named = lines.filter((line) => answer.message.includes(`unable to parse '${line.text}'`));
    const rest = lines.filter((line) => !named.includes(line));
    if (named.length > 0) return [rest, ...named.map((line) => [line])];
  }
  const conflict = parseConflict(answer);
  if (conflict) {
    const named = exploded.filter(
      ({ points: [point] }) => point !== undefined && isNamed(point.series, conflict),
    );
    const rest = exploded.filter((line) => !named.includes(line));
    if (named.length > 0 && rest.length > 0) return [rest, named];
  }
  const middle = exploded.length >> 1;
  return [exploded.slice(0, middle), exploded.slice(middle)];
}

/** InfluxDB counts the lines that it dropped; where it dropped all lines of a single field each, every point is bad. */
function droppedBy({ message }: LinesRefused): number {
  return Number(/\bdropped=(\d+)/.exec(message)?.[1] ?? 0);
}

interface Conflict {
  readonly field: string;
  readonly measurement: string;
}

function parseConflict({ message }: LinesRefused): Conflict | undefined {
  const [, field, measurement] = /input field "(.*?)" on measurement "(.*?)" is type/.exec(message) ?? [];
  return field === undefined || measurement === undefined ? undefined : { field, measurement };
}

function isNamed(series: SeriesRef, conflict: Conflict): boolean {
  return influxName(series.field) === conflict.field && influxName(series.productID) === conflict.measurement;
}

function refuse(lines: readonly InfluxLine[], message: string): RefusedPoint[] {
  const reason = message.length > reasonCharsMax ? `${message.slice(0, reasonCharsMax)}…` : message;
  return lines.flatMap((line) => line.points.map((point) => ({ point, reason })));
}

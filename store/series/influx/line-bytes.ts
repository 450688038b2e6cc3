/** Writes points as InfluxDB's line protocol, straight into bytes: no string and no object is made for a line. */

import { isStorableTime } from "../../lib/time-range.js";
import type { Point, SeriesRef } from "../series.js";
import { toLineKey } from "./names.js";

const timeRefused = "the time is no whole microsecond from 1684-08-01 to 2255-05-31";

export interface LineBytes {
  /**
   * Appends a point. Consecutive ones of one device and time share a line; a field that is there already begins
   * another, since within one line neither value would be the later. Returns why InfluxDB cannot hold the point (then
   * nothing is appended), or null.
   */
  add(series: SeriesRef, time: number, value: Point["value"], serverStamped: boolean): string | null;
  /** Where the line of the point added last begins, in bytes. */
  readonly lineStart: number;
  /** Ends the last line and returns them all, which no later call changes. Nothing may be added afterwards. */
  end(): Buffer;
}

const [comma, quote, minus, zero, newline, space] = Buffer.from(',"-0\n ') as unknown as number[];
/** Digits, sign and point of the longest double, and the quotes or the comma around it. */
const numberBytesMax = 32;
/** A space, a time in nanoseconds with its sign, and the end of the line. */
const timeBytesMax = 24;
const trueBytes = Buffer.from("true");
const falseBytes = Buffer.from("false");

/**
 * @param nodeNumber 0 to 999 fills the nanoseconds of server-stamped times
 * @param bytesExpected about how long the lines will be together
 */
export function createLineBytes(nodeNumber: number, bytesExpected: number): LineBytes {
  let bytes = Buffer.allocUnsafeSlow(bytesExpected);
  let at = 0;
  /** The line that is open; its device and its time. */
  let lineStart = -1;
  let productID = "";
  let deviceID = "";
  let lineTime = 0;
  let isStamped = false;
  /** By field, where the line begins that has it last: by name, since a field may have several references. */
  const lineOfField = new Map<string, number>();

  function reserve(length: number): void {
    const needed = at + length;
    if (needed <= bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, bytes.length * 2));
    bytes.copy(larger, 0, 0, at);
    bytes = larger;
  }

  function append(some: Buffer): void {
    // A loop is faster than a call into C++ for keys of this length.
    for (let i = 0; i < some.length; i += 1) bytes[at + i] = some[i] as number;
    at += some.length;
  }

  function appendAscii(text: string): void {
    for (let i = 0; i < text.length; i += 1) bytes[at + i] = text.charCodeAt(i);
    at += text.length;
  }

  function appendValue(kind: SeriesRef["kind"], value: Point["value"]): void {
    if (kind === "text") appendText(String(value));
    else if (kind === "boolean") append(value === true || value === 1 ? trueBytes : falseBytes);
    else {
      if (Object.is(value, -0)) bytes[at++] = minus as number;
      appendAscii(String(value));
    }
  }

  function appendText(text: string): void {
    const escaped = text.replace(/["\\]/g, "\\$&");
    reserve(escaped.length * 3 + 2);
    bytes[at++] = quote as number;
    at += bytes.write(escaped, at);
    bytes[at++] = quote as number;
  }

  /** The time of the open line, and the end of it. */
  function endLine(): void {
    if (lineStart < 0) return;
    reserve(timeBytesMax);
    bytes[at++] = space as number;
    const nanoseconds = isStamped ? nodeNumber : 0;
    if (lineTime > 0) {
      appendDigits(lineTime);
      bytes[at++] = (zero as number) + Math.floor(nanoseconds / 100);
      bytes[at++] = (zero as number) + (Math.floor(nanoseconds / 10) % 10);
      bytes[at++] = (zero as number) + (nanoseconds % 10);
    } else {
      appendAscii(String(BigInt(lineTime) * 1000n + BigInt(nanoseconds)));
    }
    bytes[at++] = newline as number;
  }

  /** Expects a whole number above 0; its halves are small integers, which V8 divides without a call. */
  function appendDigits(value: number): void {
    const length = countDigits(value);
    let high = Math.floor(value / 1e8);
    let low = value - high * 1e8;
    let i = at + length;
    for (const stop = Math.max(at, i - 8); i > stop; low = Math.floor(low / 10)) {
      bytes[--i] = (zero as number) + (low % 10);
    }
    for (; i > at; high = Math.floor(high / 10)) bytes[--i] = (zero as number) + (high % 10);
    at += length;
  }

  return {
    add: (series, time, value, serverStamped) => {
      const reason = findRefusal(series.kind, value) ?? (isStorableTime(time) ? null : timeRefused);
      if (reason !== null) return reason;
      const { head, field } = toLineKey(series);
      const isSameLine =
        time === lineTime &&
        serverStamped === isStamped &&
        series.deviceID === deviceID &&
        series.productID === productID &&
        lineOfField.get(series.field) !== lineStart;
      if (isSameLine) {
        reserve(1);
        bytes[at++] = comma as number;
      } else {
        endLine();
        lineStart = at;
        ({ productID, deviceID } = series);
        lineTime = time;
        isStamped = serverStamped;
        reserve(head.length + 1);
        append(head);
      }
      lineOfField.set(series.field, lineStart);
      reserve(field.length + numberBytesMax);
      append(field);
      appendValue(series.kind, value);
      return null;
    },
    get lineStart() {
      return lineStart;
    },
    end: () => {
      endLine();
      return bytes.subarray(0, Math.max(0, at - 1));
    },
  };
}

function findRefusal(kind: SeriesRef["kind"], value: Point["value"]): string | null {
  switch (kind) {
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? null : "not a finite number";
    case "boolean":
      return typeof value === "boolean" || value === 1 || value === 0 ? null : "not a boolean";
    case "text":
      return typeof value === "string" ? null : "not a text";
  }
}

/** Expects a whole number from 1 to 2^53. */
function countDigits(value: number): number {
  let digits = 1;
  for (let bound = 10; value >= bound; bound *= 10) digits += 1;
  return digits;
}

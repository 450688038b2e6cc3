import type { Point } from "../../store/series/series.js";

/** What a log holds. */
export interface Numbered {
  /** Ascends over the events of a run; 0 if it is not of one. */
  readonly number: number;
  /** Bytes that it takes in memory. */
  readonly bytes: number;
}

/** A point that has been stored. */
export interface LiveEvent extends Numbered {
  readonly field: string;
  /** Microseconds since 1970. */
  readonly time: number;
  /** A text is its JSON in UTF-8, made once for all who read it. */
  readonly value: number | boolean | Uint8Array;
}

/** What an event takes in memory besides its text, and nearly what its line takes on the wire. */
const eventBytes = 96;
/** The objects around a text's bytes. */
const textBytes = 160;

const encoder = new TextEncoder();

export function liveEvent(
  number: number,
  field: string,
  { time, value }: Pick<Point, "time" | "value">,
): LiveEvent {
  const encoded = typeof value === "string" ? encoder.encode(JSON.stringify(value)) : value;
  const bytes = typeof encoded === "object" ? eventBytes + textBytes + encoded.byteLength : eventBytes;
  return { number, bytes, field, time, value: encoded };
}

/**
 * The newest events of one topic. Its readers share it: each goes by a position, which counts the events since the log
 * began, so that what waits for a reader is held once, however many there are.
 */
export interface LiveLog<Event extends Numbered> {
  /** Held. */
  readonly bytes: number;
  /** The position of the oldest event that is held. */
  readonly begin: number;
  /** The position of the next event. */
  readonly end: number;
  append(event: Event): void;
  /** Drops the oldest until at most so many bytes are held; returns the bytes that are free now. */
  shrink(bytesMax: number): number;
  /** Drops all and passes over the next event, which is not held; returns the bytes that are free now. */
  skip(number: number): number;
  /** The events from a position on, together at most so many bytes, and at least one if there is one. */
  from(position: number, bytesMax: number): readonly Event[];
  /** The position after an event, by its number; null if it is not known what came after it. */
  positionAfter(number: number): number | null;
}

/** @param number of the last event before the log begins */
export function createLiveLog<Event extends Numbered>(number: number): LiveLog<Event> {
  let events: Event[] = [];
  let begin = 0;
  let bytes = 0;
  /** The number after which every event of the topic is held. */
  let knownAfter = number;
  return {
    get bytes() {
      return bytes;
    },
    get begin() {
      return begin;
    },
    get end() {
      return begin + events.length;
    },
    append: (event) => {
      events.push(event);
      bytes += event.bytes;
    },
    shrink: (bytesMax) => {
      const before = bytes;
      let dropped = 0;
      for (; bytes > bytesMax; dropped++) {
        const event = events[dropped];
        if (event === undefined) break;
        bytes -= event.bytes;
        knownAfter = event.number;
      }
      begin += dropped;
      if (dropped > 0) events = events.slice(dropped);
      return before - bytes;
    },
    skip: (number) => {
      const freed = bytes;
      begin += events.length + 1;
      events = [];
      bytes = 0;
      knownAfter = number;
      return freed;
    },
    from: (position, bytesMax) => {
      const first = position - begin;
      let stop = first;
      for (let freeBytes = bytesMax; stop < events.length; stop++) {
        freeBytes -= (events[stop] as Event).bytes;
        if (freeBytes < 0 && stop > first) break;
      }
      return events.slice(first, stop);
    },
    positionAfter: (last) => {
      if (last < knownAfter) return null;
      let low = 0;
      let high = events.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((events[middle] as Event).number > last) high = middle;
        else low = middle + 1;
      }
      return begin + low;
    },
  };
}

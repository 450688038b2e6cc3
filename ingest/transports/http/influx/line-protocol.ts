/**
 * InfluxDB line protocol, as InfluxDB 2 documents it ("Line protocol" of its reference): `measurement,tag=value
 * field=value timestamp`. Values come out as JSON, digit for digit where JSON has the same form.
 */

import { jsonOfText, jsonOfValue } from "./line-values.js";
import { showText } from "./shown.js";

/** One line; the same object each time. */
export interface ProtocolLine {
  /** From 1. */
  number: number;
  /** Measurement and tags as they were written: lines with the same text have the same. */
  head: string;
  readonly keys: string[];
  /** JSON texts. */
  readonly values: string[];
  /** Digits as they were written; empty: none. */
  time: string;
  /** Why it cannot be read, or null. */
  fault: string | null;
  /** Line breaks within its texts. */
  breaks: number;
  /** A text of it has begun and not ended: what follows may be its rest, line breaks too. */
  isOpen: boolean;
}

/** Lets others in while a text is read. */
type Pace = (characters: number) => Promise<void> | undefined;

interface Head {
  readonly measurement: string;
  /** In the order in which they were written. */
  readonly tags: readonly (readonly [key: string, value: string])[];
}

const [tab, newline, carriage, space] = [0x09, 0x0a, 0x0d, 0x20];
const [quote, hash, comma, equals, backslash] = [0x22, 0x23, 0x2c, 0x3d, 0x5c];

/** Longest line, in characters: a message of the largest size fits. */
const lineCharactersMax = 512 * 1024;
/** Most fields of a line: each is looked up in the product. */
const fieldsMax = 2000;
/** Longest measurement with tags, and longest name of a field, in characters. */
const [headMax, keyMax] = [4096, 1024];

/** Reads lines from pieces of a text, which may be cut anywhere. */
interface LineReader {
  /**
   * Calls `take` with each line that is neither empty nor a comment, and waits for what `take` returns. `isLast`: nothing
   * follows.
   */
  read(
    piece: string,
    isLast: boolean,
    take: (line: ProtocolLine) => Promise<void> | undefined,
  ): Promise<void>;
}

/** @param pace receives the number of characters of each line, empty ones and comments too */
export function createLineReader(pace: Pace): LineReader {
  const line: ProtocolLine = {
    number: 0,
    head: "",
    keys: [],
    values: [],
    time: "",
    fault: null,
    breaks: 0,
    isOpen: false,
  };
  /** The beginning of a line whose end has not come. */
  let rest = "";
  /** The line is too long, and has been reported: the rest of it is skipped. */
  let skips = false;

  return {
    read: async (piece, isLast, take) => {
      const text = rest + piece;
      rest = "";
      for (let at = 0; at < text.length; ) {
        const end = skips ? endOfLine(text, at) : readOne(text, at);
        const isCut = end >= text.length && !isLast;
        const mayGoOn = isCut || (line.isOpen && !isLast);
        if (!skips && mayGoOn && text.length - at <= lineCharactersMax) {
          rest = text.slice(at);
          return;
        }
        const turn = pace(end + 1 - at);
        if (turn !== undefined) await turn;
        if (skips) {
          skips = isCut;
          at = end + 1;
          continue;
        }
        line.number++;
        at = end + 1;
        if (isCut) skips = true;
        if (line.head !== "" || line.fault !== null) {
          const taken = take(line);
          if (taken !== undefined) await taken;
        }
        line.number += line.breaks;
      }
    },
  };

  /** Where it ends. Empty lines and comments have no head. */
  function readOne(text: string, from: number): number {
    const begin = skipBlanks(text, from);
    const first = text.charCodeAt(begin);
    line.head = "";
    line.fault = null;
    line.breaks = 0;
    line.isOpen = false;
    if (begin >= text.length || first === newline || first === hash) return endOfLine(text, begin);
    const end = readLine(text, begin, line);
    if (end - from <= lineCharactersMax) return end;
    line.fault = `is longer than ${lineCharactersMax} characters`;
    line.breaks = 0;
    return endOfLine(text, from);
  }
}

/** Reads one line, and returns where it ends. */
function readLine(text: string, from: number, line: ProtocolLine): number {
  line.keys.length = 0;
  line.values.length = 0;
  line.time = "";
  line.fault = null;
  line.breaks = 0;
  let at = endOfHead(text, from);
  line.head = text.slice(from, at);
  if (at - from > headMax) return fail(text, at, line, `has more than ${headMax} characters of tags`);
  if (text.charCodeAt(at) !== space) return fail(text, at, line, "has no fields");
  at = skipBlanks(text, at);
  for (;;) {
    const equal = endOfKey(text, at);
    if (text.charCodeAt(equal) !== equals || equal === at)
      return fail(text, at, line, "has a field without a key or a value");
    if (equal - at > keyMax)
      return fail(text, at, line, `has a field's name of more than ${keyMax} characters`);
    const key = unescaped(text.slice(at, equal));
    const begin = equal + 1;
    const isText = text.charCodeAt(begin) === quote;
    const end = isText ? endOfText(text, begin, line) : endOfValue(text, begin);
    if (end < 0) {
      line.isOpen = true;
      return fail(text, begin, line, `field ${showText(key)} has a text without an end`);
    }
    const value = isText ? jsonOfText(text.slice(begin + 1, end - 1)) : jsonOfValue(text.slice(begin, end));
    if (value === null)
      return fail(text, end, line, `field ${showText(key)} has a value that cannot be read`);
    line.keys.push(key);
    line.values.push(value);
    at = end;
    if (text.charCodeAt(at) !== comma) break;
    if (line.keys.length === fieldsMax) return fail(text, at, line, `has more than ${fieldsMax} fields`);
    at++;
  }
  return readTime(text, at, line);
}

function readTime(text: string, from: number, line: ProtocolLine): number {
  const begin = skipBlanks(text, from);
  const end = endOfLine(text, begin);
  if (begin === from && begin < end && text.charCodeAt(begin) !== carriage)
    return fail(text, begin, line, "has something after a value");
  const time = text.slice(begin, end).trimEnd();
  if (!/^(-?\d{1,19})?$/.test(time)) return fail(text, begin, line, "has a timestamp that cannot be read");
  line.time = time;
  return end;
}

function fail(text: string, at: number, line: ProtocolLine, fault: string): number {
  line.fault = fault;
  return endOfLine(text, at);
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === space || code === tab || code === carriage; )
    code = text.charCodeAt(++at);
  return at;
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at < 0 ? text.length : at;
}

/** Whether a backslash of a name stands here that takes the next character with it: never the end of the line. */
const escapesNext = (text: string, at: number): boolean =>
  text.charCodeAt(at) === backslash && text.charCodeAt(at + 1) !== newline;

/** The blank after measurement and tags, or the end of the line. */
function endOfHead(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (escapesNext(text, at)) at++;
    else if (code === space || code === newline) return at;
  }
  return text.length;
}

/** The = after a key, or whatever ends the line before. */
function endOfKey(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (escapesNext(text, at)) at++;
    else if (code === equals || code === newline || code === space || code === comma) return at;
  }
  return text.length;
}

function endOfValue(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); at < text.length; code = text.charCodeAt(++at)) {
    if (code === comma || code === space || code === newline || code === carriage) break;
  }
  return at;
}

/** After the closing quote; -1 without one. */
function endOfText(text: string, from: number, line: ProtocolLine): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === newline) line.breaks++;
    else if (code === quote) return at + 1;
  }
  return -1;
}

/** In measurements, tags and keys a backslash escapes a comma, an equals sign and a blank; before all else it is one. */
function unescaped(text: string): string {
  return text.includes("\\") ? text.replaceAll(/\\([,= ])/g, "$1") : text;
}

/** Null for a head without a measurement, or with a tag that is none. */
export function readHead(text: string): Head | null {
  const [measurement = "", ...rest] = split(text, comma);
  const tags: [string, string][] = [];
  for (const one of rest) {
    const [key = "", value, ...more] = split(one, equals);
    if (key === "" || value === undefined || value === "" || more.length > 0) return null;
    tags.push([unescaped(key), unescaped(value)]);
  }
  return measurement === "" ? null : { measurement: unescaped(measurement), tags };
}

/** At a character that no backslash precedes. */
function split(text: string, separator: number): string[] {
  const parts: string[] = [];
  let begin = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === separator) {
      parts.push(text.slice(begin, at));
      begin = at + 1;
    }
  }
  parts.push(text.slice(begin));
  return parts;
}

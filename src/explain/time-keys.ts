/** Keys under which devices send a time, where another name counts. */
import { type LocalTime, readTime } from "../../ingest/decode/time.js";

/** Words that name a time, in lower case. */
const words: ReadonlySet<string> = new Set([
  ...["t", "ts", "tm", "time", "timestamp", "datetime", "date", "dt", "at", "when", "clock", "seen"],
  ...["epoch", "unix", "unixtime", "lastseen", "时间", "时间戳"],
]);
/** Words that may follow these. */
const units: ReadonlySet<string> = new Set(["s", "ms", "us", "ns", "utc", "iso"]);
/** `lastSeen`, `last_seen`, `main.timestamp`. */
const wordBounds = /(?<=[a-z\d])(?=[A-Z])|[_.\s-]+/;
const keyCharactersMax = 64;

const earliestMicros = Date.UTC(2000, 0, 1) * 1000;
const aheadMicros = 366 * 86_400e6;

/** Whether a key and its value are perhaps a time: since 2000, and at most a year ahead. */
export function isTimeKey(key: string, value: unknown, local: LocalTime, receivedAt: number): boolean {
  if (key.length > keyCharactersMax || !isTimeName(key)) return false;
  const micros = readTime(value, local);
  return micros !== null && micros >= earliestMicros && micros <= receivedAt + aheadMicros;
}

function isTimeName(key: string): boolean {
  const named = key.split(wordBounds).map((word) => word.toLowerCase());
  while (named.length > 1 && units.has(named.at(-1) ?? "")) named.pop();
  return words.has(named.at(-1) ?? "");
}

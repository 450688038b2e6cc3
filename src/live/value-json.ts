import type { LiveEvent } from "../../ingest/live/log.js";
import { isPlace, toShownValue } from "../../query/newest.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";

const decoder = new TextDecoder();

/** The value of a live event as JSON; a text is JSON already. */
export function valueJson({ pointDataType }: DataPoint, value: LiveEvent["value"]): string | Uint8Array {
  if (typeof value !== "object") return JSON.stringify(toShownValue(pointDataType, Number(value)));
  if (!isPlace(pointDataType)) return value;
  return JSON.stringify(toShownValue(pointDataType, JSON.parse(decoder.decode(value))));
}

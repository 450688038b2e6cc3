/**
 * Why an uplink, or one value of it, did not become a point. The list is closed: each reason is a label of the
 * counter `tidemark_refused_total` and nothing is dropped without one.
 */
export const reasons = [
  "format", // the payload is not JSON in UTF-8
  "shape", // well-formed JSON that is none of the accepted forms
  "encoding", // the topic's stream carries a form that is not decoded
  "unknown", // a key that is no data point of the product, or not of the topic's stream
  "direction", // a data point that is only issued, never reported
  "type", // a value of another type than the data point's
  "number", // NaN, an infinity, or text that is no number
  "size", // text longer than a series can hold
  "time", // a time that cannot be read
  "future", // a time too far ahead of the clock
  "retention", // a time before what the retention keeps
  "duplicate", // a data point twice at the message's own time; the last one counts
  "rounded", // a whole number beyond 2^53, stored as the nearest double
  "series", // refused by the series store, see the quarantine
  "device", // the device is gone
] as const;

export type Reason = (typeof reasons)[number];

/**
 * Why an uplink, or one value of it, did not become a point. The list is closed: each reason is a label of the
 * counter `tidemark_refused_total` and nothing is dropped without one.
 */
export const reasons = [
  "format", // the payload is not JSON in UTF-8, nor CBOR
  "shape", // well-formed JSON or CBOR of a form that is not accepted
  "layout", // a binary stream with a data point that has no binary form of its size
  "length", // a binary payload that is too short or too long for its stream
  "unknown", // a key that is no data point of the product, or not of the topic's stream
  "direction", // a data point that is only issued, never reported
  "type", // a value of another type than the data point's
  "number", // NaN, an infinity, or text that is not a number
  "size", // text longer than a series can hold
  "enum", // a value outside the data point's enumeration
  "unit", // a SenML record in another unit than its data point, or than an earlier record of its name
  "time", // a time that cannot be read, or lies outside the range of times that are taken
  "future", // a time too far ahead of the clock
  "retention", // a time before what the retention keeps
  "duplicate", // a data point twice at one time in a message; the last one counts
  "discarded", // a value of a message that a fault with isDiscard keeps out
  "rounded", // a whole number beyond 2^53, stored as the nearest double
  "step", // a number between the data point's steps, stored as it is
  "series", // refused by the series store, see the quarantine
  "device", // the device is gone
  "error", // the service failed at the message, see its log; the message is kept
  "set_aside", // starts of the service ended while the message alone was in work; it can be replayed
  "child", // an entry for a device not carried by the sender, or blocked; or one too deep or large for an event
] as const;

export type Reason = (typeof reasons)[number];

/**
 * Called for values and entries with a fault, most of which become no point: the reason and how many; for a single
 * value also its key and the value.
 */
export type Refuse = (reason: Reason, count: number, key?: string, value?: unknown) => void;

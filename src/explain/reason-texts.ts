import type { Reason } from "../../ingest/decode/reasons.js";

/** What each reason means for the sender, and how to fix it. */
export const explainedReasons: Readonly<Record<Reason, string>> = {
  format:
    "The payload is neither JSON in UTF-8 nor CBOR. Send a JSON object, or make a binary data stream of this topic.",
  shape:
    "It is well-formed, but of none of the accepted forms. Send an object of data points and values, or an array of such objects.",
  layout:
    "A data point of the binary stream has no binary form of its size. Correct its type or binarySize, or take it out of the stream.",
  length:
    "The payload has more or fewer bytes than the fields of the binary stream. Compare the fields with what the device sends.",
  unknown:
    "The product has no data point of this name, or the topic's data stream leaves it out. Correct the key, or make the data point.",
  direction: "The data point is only issued, never reported. Set its dataTransType to 1 or 3.",
  type: "The value is of another type than the data point. Send a value of its type, or make a data point of another type.",
  number: "The value is no finite number within the data point's bounds. Send a number, as such or as text.",
  size: "The text is longer than 65,535 bytes. Send less, or in parts.",
  enum: "The value is none of the data point's enumeration. Send one that is listed, or add it to the list.",
  unit: "The record's unit is another one than the data point's, or than that of an earlier record of its name. Send values in the data point's unit, or correct its unitSymbol and unitName.",
  time: "The time cannot be read, is a bare number before 2000-01-01, or lies before OLDEST_TIME or after 2255-05-31. Send ISO 8601, or a number since 1970 of a time from 2000 on.",
  future:
    "The time is more than ten minutes ahead of the clock. Set the device's clock right: the service tells the time.",
  retention: "The time is older than points are kept. Raise POINT_RETENTION_DAYS, or send newer values.",
  duplicate:
    "The data point occurs twice at one time, and the last one counts. Send each value with a time of its own.",
  discarded: "A fault with isDiscard keeps the message's values out. Set isDiscard to 0 to store them.",
  rounded:
    "The whole number lies beyond 2^53 and is stored as the nearest double. Use a text data point for every digit.",
  step: "The number lies between the steps of the data point and is stored as it is. Correct dataStep if that is meant.",
  series: "The series store has refused the value, because it holds values of another type there.",
  device: "The device is gone.",
  error:
    "The service failed at the message; its log says why. The message is kept, and can be decoded again once that is mended.",
  set_aside: "Starts of the service ended at this message. An administrator can replay it.",
  child:
    "The entry names a device that the sender does not carry, or that is blocked. Set its gateway or parentDevice, or unblock it.",
};

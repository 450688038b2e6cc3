/** What a journal record is. Uplinks are events, a denial is a refused CONNECT; the others carry the state of sessions. */
export const recordKinds = {
  uplink: 1,
  connect: 2,
  disconnect: 3,
  /** PUBREL of a message that came up. */
  release: 4,
  denial: 5,
  subscribe: 6,
  unsubscribe: 7,
  /** A message of ours to one device's sessions. */
  downlink: 8,
  /** PUBREC of a message that went down. */
  received: 9,
  /** PUBACK or PUBCOMP of a message that went down, or the end of its use. */
  delivered: 10,
  /** What the platform subscribes a session to, from now on. */
  platform: 11,
  /** The same message of ours to sessions of several devices. */
  downlinks: 12,
  /** An entry of an envelope: an event of the device that it speaks of. */
  entry: 16,
  /** Every entry of an envelope has been written. */
  expanded: 17,
} as const;
export type RecordKind = (typeof recordKinds)[keyof typeof recordKinds];

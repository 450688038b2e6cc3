/**
 * MQTT 3.1.1 bytes, written by hand: a generator that pays for an encoder measures its encoder.
 * A publisher's packets are laid out once, one after the other in a slab, each with its own packet id;
 * sending a message only overwrites its digits.
 */

export interface Credential {
  readonly username: string;
  readonly password: string;
}

/** A CONNECT with a clean session and no keep-alive. */
export function encodeConnect(clientId: string, credential: Credential | null): Buffer {
  const flags = credential === null ? 0x02 : 0xc2;
  const head = Buffer.from([0, 4, 0x4d, 0x51, 0x54, 0x54, 4, flags, 0, 0]);
  const texts = credential === null ? [clientId] : [clientId, credential.username, credential.password];
  return packet(0x10, [head, ...texts.map(lengthPrefixed)]);
}

/** A PUBLISH at QoS 1, neither DUP nor RETAIN. */
export function encodePublish(topic: string, packetId: number, payload: Buffer): Buffer {
  return packet(0x32, [lengthPrefixed(topic), uint16(packetId), payload]);
}

/** A SUBSCRIBE to one filter at QoS 1. */
export function encodeSubscribe(packetId: number, filter: string): Buffer {
  return packet(0x82, [uint16(packetId), lengthPrefixed(filter), Buffer.from([1])]);
}

export function encodePuback(packetId: number): Buffer {
  return packet(0x40, [uint16(packetId)]);
}

export const disconnectPacket = Buffer.from([0xe0, 0]);

function packet(firstByte: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([firstByte, ...remainingLength(body.length)]), body]);
}

function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  return Buffer.concat([uint16(bytes.length), bytes]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

function remainingLength(length: number): number[] {
  const bytes: number[] = [];
  let rest = length;
  do {
    const more = rest > 127 ? 0x80 : 0;
    bytes.push((rest & 0x7f) | more);
    rest >>= 7;
  } while (rest > 0);
  return bytes;
}

interface Slab {
  /** `slots` packets of `packetBytes` each; the one at slot s has packet id s + 1. */
  readonly bytes: Buffer;
  readonly packetBytes: number;
  /** Gives the packet at `slot` the values of `turn` and, where the slab carries times, `timeUs`. */
  stamp(slot: number, turn: number, timeUs: number): void;
}

const payloads = {
  plain: '{"temp":20.00,"hum":40.00,"volt":3.000}',
  timed: '{"time":1700000000000000,"temp":20.00,"hum":40.00,"volt":3.000}',
};

/** Three digits a value, precomputed: 000 to 999. */
const digits = Buffer.from(Array.from({ length: 1000 }, (_, n) => String(n).padStart(3, "0")).join(""));

/** Lays out the packets of one publisher: three changing numbers a message, with or without a client time. */
export function createSlab(topic: string, slots: number, clientTimes: boolean): Slab {
  const payload = Buffer.from(clientTimes ? payloads.timed : payloads.plain);
  const packets = Array.from({ length: slots }, (_, slot) => encodePublish(topic, slot + 1, payload));
  const bytes = Buffer.concat(packets);
  const packetBytes = bytes.length / slots;
  const payloadAt = packetBytes - payload.length;
  const at = (mark: string, skip: number) => payloadAt + payload.indexOf(mark) + mark.length + skip;
  const temp = at('"temp":', 1);
  const hum = at('"hum":', 1);
  const volt = at('"volt":', 2);
  const time = at('"time":', 0);

  function stamp(slot: number, turn: number, timeUs: number): void {
    const base = slot * packetBytes;
    putAroundPoint(bytes, base + temp, turn % 1000);
    putAroundPoint(bytes, base + hum, (turn * 7) % 1000);
    digits.copy(bytes, base + volt, ((turn * 13) % 1000) * 3, ((turn * 13) % 1000) * 3 + 3);
    if (clientTimes) bytes.write(String(timeUs), base + time, "latin1");
  }
  return { bytes, packetBytes, stamp };
}

/** Writes d.dd: the decimal point between the first and the second digit stays. */
function putAroundPoint(bytes: Buffer, at: number, value: number): void {
  const from = value * 3;
  bytes[at] = digits[from] ?? 0;
  bytes[at + 2] = digits[from + 1] ?? 0;
  bytes[at + 3] = digits[from + 2] ?? 0;
}

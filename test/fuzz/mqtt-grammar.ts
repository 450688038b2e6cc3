/** Every packet of MQTT 3.1, 3.1.1 and 5 that a client may send, with every property, as trees. */
import type { Random } from "./random.js";
import { type Group, type Part, prefixed, sequence } from "./tree.js";

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

type Version = 3 | 4 | 5;

export const versions: readonly Version[] = [3, 4, 5];

function uint16(value: number): Buffer {
  return Buffer.of((value >> 8) & 0xff, value & 0xff);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return Buffer.of(...bytes, left);
}

const text = (value: string | Buffer): Group => prefixed(({ length }) => uint16(length), value);
const body = (...parts: readonly Part[]): Group => prefixed(({ length }) => varint(length), ...parts);
const packet = (first: number, ...parts: readonly Part[]): Part => sequence(first, body(...parts));

const numbers = [0, 1, 2, 10, 100, 65_535, 0x7fffffff, 0xffffffff] as const;
const words = [
  "data",
  "a",
  "a/b",
  "a/b/c",
  "inbox",
  "$time",
  "#",
  "+",
  "+/b",
  "a/#",
  "/",
  "é",
  "$SYS/x",
] as const;

type Property = (random: Random) => Part;

const byte =
  (id: number): Property =>
  (random) =>
    sequence(id, random.below(2));
const two =
  (id: number): Property =>
  (random) =>
    sequence(id, uint16(random.pick(numbers)));
const four =
  (id: number): Property =>
  (random) =>
    sequence(id, uint32(random.pick(numbers)));
const variable =
  (id: number): Property =>
  (random) =>
    sequence(id, varint(random.pick([1, 128, 268_435_455])));
const word =
  (id: number): Property =>
  (random) =>
    sequence(id, text(random.pick(words)));
const pair =
  (id: number): Property =>
  (random) =>
    sequence(id, text(random.pick(words)), text(random.pick(words)));

/** All that MQTT 5 has (§2.2.2.2); which packet may have which is for the service to know. */
const allProperties: readonly Property[] = [
  ...[0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2a].map(byte),
  ...[0x13, 0x21, 0x22, 0x23].map(two),
  ...[0x02, 0x11, 0x18, 0x27].map(four),
  ...[0x0b].map(variable),
  ...[0x03, 0x08, 0x09, 0x12, 0x15, 0x16, 0x1a, 0x1c, 0x1f].map(word),
  pair(0x26),
];
const ofConnect = [four(0x11), two(0x21), four(0x27), two(0x22), byte(0x19), byte(0x17), pair(0x26)];
const ofWill = [four(0x18), byte(0x01), four(0x02), word(0x03), word(0x08), word(0x09), pair(0x26)];
const ofPublish = [byte(0x01), four(0x02), two(0x23), word(0x08), word(0x09), word(0x03), pair(0x26)];
const ofOthers = [pair(0x26), word(0x1f)];

function properties(version: Version, random: Random, usual: readonly Property[]): readonly Part[] {
  if (version !== 5) return [];
  const from = random.once(8) ? allProperties : usual;
  return [body(...random.some(0, random.once(10) ? 40 : 3, () => random.pick(from)(random)))];
}

export function connect(version: Version, { username, password }: Credentials, random: Random): Part {
  const will = random.once(3);
  const flags =
    0xc0 | (random.below(2) << 1) | (will ? 0x04 | (random.below(3) << 3) | (random.below(2) << 5) : 0);
  const willParts = will
    ? [...properties(version, random, ofWill), text(random.pick(words)), text("the will")]
    : [];
  return packet(
    0x10,
    text(version === 3 ? "MQIsdp" : "MQTT"),
    sequence(version, flags, uint16(random.pick([0, 1, 60, 65_535]))),
    ...properties(version, random, ofConnect),
    text(`fuzz ${random.below(4)}`),
    ...willParts,
    text(username),
    text(password),
  );
}

const payloads = [
  ...['{"temp":21.5}', '{"temp":null,"time":"2026-01-01T00:00:00Z"}', '[{"temp":1},{"temp":2}]', "21.5", ""],
  ...[
    '[{"bn":"x","n":"temp","v":1}]',
    '{"temp":[1,2,3],"time":[1,2,3]}',
    "{",
    '{"DeviceID":"x","topic":"t","payload":"p"}',
  ],
  ...['{"temp":1e400}', `{"temp":${"9".repeat(400)}}`, `${"[".repeat(300)}${"]".repeat(300)}`],
] as const;

function publish(version: Version, random: Random): Part {
  const qos = random.below(3);
  const first = 0x30 | (random.below(2) << 3) | (qos << 1) | random.below(2);
  return packet(
    first,
    text(random.pick(words)),
    ...(qos === 0 ? [] : [sequence(uint16(1 + random.below(20)))]),
    ...properties(version, random, ofPublish),
    sequence(random.pick(payloads)),
  );
}

function acknowledgement(first: number, version: Version, random: Random): Part {
  const codes = version === 5 ? [sequence(random.pick([0, 0x10, 0x80, 0x92]))] : [];
  return packet(
    first,
    sequence(uint16(1 + random.below(20))),
    ...codes,
    ...properties(version, random, ofOthers),
  );
}

function subscribe(version: Version, random: Random): Part {
  const filters = random.some(1, 4, () => sequence(text(random.pick(words)), random.below(3)));
  const usual = [variable(0x0b), pair(0x26)];
  return packet(
    0x82,
    sequence(uint16(1 + random.below(20))),
    ...properties(version, random, usual),
    ...filters,
  );
}

function unsubscribe(version: Version, random: Random): Part {
  const filters = random.some(1, 4, () => text(random.pick(words)));
  return packet(
    0xa2,
    sequence(uint16(1 + random.below(20))),
    ...properties(version, random, ofOthers),
    ...filters,
  );
}

function disconnect(version: Version, random: Random): Part {
  if (version !== 5) return packet(0xe0);
  return packet(
    0xe0,
    sequence(random.pick([0, 4, 0x81])),
    ...properties(version, random, [four(0x11), ...ofOthers]),
  );
}

const auth = (version: Version, random: Random): Part =>
  packet(
    0xf0,
    sequence(random.pick([0, 0x18, 0x19])),
    ...properties(version, random, [word(0x15), word(0x16)]),
  );

/** Any packet that may follow CONNECT, and now and then one that only a server sends. */
function anyPacket(version: Version, random: Random): Part {
  const kind = random.below(16);
  if (kind < 6) return publish(version, random);
  if (kind < 8) return subscribe(version, random);
  if (kind === 8) return unsubscribe(version, random);
  if (kind < 12) return acknowledgement(random.pick([0x40, 0x50, 0x62, 0x70]), version, random);
  if (kind === 12) return packet(0xc0);
  if (kind === 13) return disconnect(version, random);
  if (kind === 14) return auth(version, random);
  return packet(random.pick([0x20, 0x90, 0xb0, 0xd0]), sequence(uint16(random.below(20)), 0));
}

/** What a client may say in a connection: CONNECT and some packets. */
export function conversation(version: Version, credentials: Credentials, random: Random): Group {
  return sequence(
    connect(version, credentials, random),
    ...random.some(0, 8, () => anyPacket(version, random)),
  );
}

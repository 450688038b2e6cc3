import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeFrame, encodeFrame, frameBytesMax } from "../../../store/journal/frame.js";
import type { MessageProperties } from "../../../store/journal/message.js";
import type { JournalInput } from "../../../store/journal/record.js";
import {
  copyRecord,
  decodeRecord,
  encodedRecord,
  toFrameInput,
} from "../../../store/journal/record-codecs.js";
import {
  decodeConnectDetails,
  decodeDisconnectDetails,
  decodeDownlinkDetails,
  decodeDownlinksDetails,
  decodeEntryDetails,
  decodePlatformDetails,
  decodeSubscribeDetails,
  decodeUplinkDetails,
  encodeConnectDetails,
  encodeDisconnectDetails,
  encodeDownlinkDetails,
  encodeDownlinksDetails,
  encodeEntryDetails,
  encodeInboxDetails,
  encodePlatformDetails,
  encodeSubscribeDetails,
  encodeUplinkDetails,
  plainUplink,
  readSentAt,
} from "../../../store/journal/record-details.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { repositoryRoot } from "../../repository.js";
import { assert, suite } from "../../suite.js";

/** Records of every kind as the version before this encoding by kinds wrote them: hexadecimal, by name. */
const written = JSON.parse(
  readFileSync(join(repositoryRoot(), "test/store/journal/records-before.json"), "utf8"),
) as Readonly<Record<string, { readonly unsalted?: string; readonly salted: string }>>;

const properties: MessageProperties = {
  contentType: "text/plain",
  responseTopic: "r/é",
  correlationData: Buffer.from([1, 2, 255]),
  userProperties: [["a", "b"]],
  payloadFormatIndicator: true,
  messageExpiryInterval: 60,
};
const session = {
  tenant: 3,
  device: 70,
  connection: 9_000_000_001,
  session: 0xdeadbeef,
  ip: "10.1.2.3",
};
const { connection: _, ...opening } = session;
const nothing = Buffer.alloc(0);
const stored = { id: 8_796_093_022_209, receivedAt: 1_700_000_000_123_456, stamp: 1_700_000_000_123_457 };
const envelope = {
  tenant: 3,
  device: 70,
  ip: "10.1.2.3",
  envelope: 9_000_000_001,
  topic: "envelope",
  receivedAt: stored.receivedAt,
  stamp: stored.stamp,
};
const uplink = {
  ...session,
  kind: recordKinds.uplink,
  messageID: 0,
  qos: 1,
  dup: false,
  retain: false,
  refused: false,
};
const will = {
  topic: "gone",
  payload: Buffer.from("bye"),
  qos: 2 as const,
  retain: true,
  delay: 5,
  properties,
};
const connect = { ...opening, kind: recordKinds.connect, clientID: "client-1" };
const disconnect = { ...session, kind: recordKinds.disconnect, keepAlive: 60, reason: "disconnect" };
const downlink = { kind: recordKinds.downlink, tenant: 3, device: 70, topic: "inbox" };

/** The same records, as they are said now. */
const inputs: Readonly<Record<string, JournalInput>> = {
  uplink: {
    ...uplink,
    messageID: 513,
    dup: true,
    topic: "data/é",
    details: encodeUplinkDetails(plainUplink),
    payload: Buffer.from('{"t":21.5}'),
  },
  "uplink refused by a policy, retained, with properties": {
    ...uplink,
    messageID: 65_535,
    qos: 2,
    retain: true,
    refused: true,
    topic: "data",
    details: encodeUplinkDetails({ ...plainUplink, properties }),
    payload: Buffer.from("x"),
  },
  will: {
    ...uplink,
    topic: "gone",
    details: encodeUplinkDetails({ ...plainUplink, isWill: true }),
    payload: Buffer.from("bye"),
  },
  "connect of the first version": {
    ...connect,
    keepAlive: 60,
    cleanStart: true,
    details: null,
    payload: nothing,
  },
  connect: {
    ...connect,
    keepAlive: 30,
    cleanStart: false,
    details: encodeConnectDetails({ deviceID: "dev-é", expiry: 3600, will: null }),
    payload: nothing,
  },
  "connect with a will": {
    ...connect,
    keepAlive: 65_535,
    cleanStart: true,
    details: encodeConnectDetails({ deviceID: "d", expiry: 0xffffffff, will }),
    payload: will.payload,
  },
  "orderly disconnect": { ...disconnect, orderly: true, details: null },
  "disconnect of a killed run": {
    ...disconnect,
    orderly: false,
    reason: "killed",
    details: encodeDisconnectDetails({ expiry: null, endedAt: 1_700_000_000_000_001 }),
  },
  "disconnect with another expiry": {
    ...disconnect,
    orderly: true,
    details: encodeDisconnectDetails({ expiry: 0, endedAt: null }),
  },
  release: { ...session, kind: recordKinds.release, messageID: 7 },
  denial: { ...opening, kind: recordKinds.denial, clientID: "client-2", keepAlive: 20 },
  subscribe: {
    ...session,
    kind: recordKinds.subscribe,
    filter: "a/+/#",
    qos: 2,
    noLocal: true,
    retainAsPublished: true,
    details: encodeSubscribeDetails({ retainHandling: 2, identifier: 77 }),
  },
  "plain subscribe": {
    ...session,
    kind: recordKinds.subscribe,
    filter: "a",
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    details: encodeSubscribeDetails({ retainHandling: 0, identifier: null }),
  },
  unsubscribe: { ...session, kind: recordKinds.unsubscribe, filter: "a/+/#" },
  downlink: {
    ...downlink,
    qos: 1,
    details: encodeDownlinkDetails({ properties, receipt: 99 }),
    payload: Buffer.from("go"),
  },
  "plain downlink": {
    ...downlink,
    qos: 0,
    details: encodeDownlinkDetails({ properties: null, receipt: null }),
    payload: Buffer.from("go"),
  },
  received: { ...session, kind: recordKinds.received, messageID: 8 },
  delivered: { ...session, kind: recordKinds.delivered, messageID: 8, acknowledged: true },
  "given up": {
    ...session,
    kind: recordKinds.delivered,
    connection: 0,
    messageID: 9,
    acknowledged: false,
  },
  platform: {
    ...session,
    kind: recordKinds.platform,
    details: encodePlatformDetails([
      { topic: "inbox/#", qos: 1 },
      { topic: "b", qos: 0 },
    ]),
  },
  downlinks: {
    kind: recordKinds.downlinks,
    tenant: 3,
    device: 0,
    qos: 2,
    topic: "inbox",
    details: encodeDownlinksDetails({
      properties,
      to: [
        { device: 70, receipt: 5 },
        { device: 71, receipt: null },
      ],
    }),
    payload: Buffer.from("all"),
  },
  entry: {
    ...envelope,
    kind: recordKinds.entry,
    ordinal: 65_535,
    details: null,
    payload: Buffer.from('{"t":1}'),
  },
  "entry that refers to another for its topic": {
    ...envelope,
    kind: recordKinds.entry,
    ordinal: 2,
    details: null,
    payload: Buffer.from('{"t":2}'),
  },
  "entry whose values later ones replace, and that refers to another": {
    ...envelope,
    kind: recordKinds.entry,
    ordinal: 2,
    details: encodeEntryDetails({ replaced: new Set([7, 2 ** 43]) }),
    payload: Buffer.from('{"t":2}'),
  },
  expanded: { ...envelope, kind: recordKinds.expanded, refusedEntries: 17 },
  "uplink with an id of its own, sent before": {
    ...uplink,
    topic: "data",
    details: encodeUplinkDetails({ ...plainUplink, sentAt: 1_700_000_000_000_001, key: "m/1" }),
    payload: Buffer.from("1"),
  },
  "uplink of a batch": {
    ...uplink,
    topic: "data",
    details: encodeUplinkDetails({ ...plainUplink, batch: { id: "b-1", line: 7 } }),
    payload: Buffer.from("1"),
  },
  inbox: {
    tenant: uplink.tenant,
    device: uplink.device,
    ip: "",
    session: uplink.session,
    kind: recordKinds.inbox,
    clientID: "http",
    details: encodeInboxDetails({ deviceID: "d", expiry: 60 }),
  },
  "end of a session": {
    tenant: uplink.tenant,
    device: uplink.device,
    ip: "",
    session: uplink.session,
    kind: recordKinds.sessionEnd,
    clientID: "client 🌡",
  },
  "a part of a snapshot": {
    kind: recordKinds.snapshotPart,
    tenant: 0,
    device: 0,
    savedID: 2 ** 43 + 7,
    part: 65_535,
    isLast: true,
    payload: Buffer.from("SQLite"),
  },
  batch: {
    tenant: uplink.tenant,
    device: uplink.device,
    connection: uplink.connection,
    session: uplink.session,
    ip: uplink.ip,
    kind: recordKinds.batch,
    batchID: "b-1",
    refusedLines: 3,
  },
};

function encoded(input: JournalInput, salt: number, topicBack: number): string {
  const frame = toFrameInput(input);
  const buffer = Buffer.alloc(frameBytesMax(frame));
  const { id, receivedAt, stamp } = stored;
  return buffer.toString("hex", 0, encodeFrame(buffer, 0, frame, id, receivedAt, stamp, salt, topicBack));
}

/** Bytes of whatever class as one text. */
const plain = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(value, (_key, one: unknown) =>
      ArrayBuffer.isView(one) || (one as { type?: unknown } | null)?.type === "Buffer"
        ? Buffer.from(one as Uint8Array).toString("hex")
        : one,
    ),
  );

suite("journal record", (test) => {
  test("every kind is in the fixture", () => {
    assert.equal(Object.keys(inputs).sort(), Object.keys(written).sort());
    const kinds = new Set(Object.values(inputs).map(({ kind }) => kind));
    assert.equal(kinds, new Set(Object.values(recordKinds)));
  });

  for (const [name, input] of Object.entries(inputs)) {
    const refers = name.includes("refers");
    test(`${name}: the bytes are those of before, and are read back`, () => {
      const { unsalted, salted = "" } = written[name] ?? {};
      assert.is(encoded(input, 0xdeadbeef, refers ? 123 : 0), salted);
      const topics = new Map(refers ? [[0, "envelope"]] : []);
      const record = decodeRecord(Buffer.from(salted, "hex"), 0, topics);
      assert.equal(plain(record), plain({ ...input, ...stored }));
      assert.equal(plain(copyRecord(record)), plain(record));
      if (unsalted === undefined) return;
      assert.is(encodedRecord(record).toString("hex"), unsalted);
      assert.is(decodeFrame(Buffer.from(unsalted, "hex"), 0).kind, input.kind);
    });
  }

  test("details of every kind say what they were given", () => {
    const one = { properties, isWill: true, sentAt: 5, key: "k", batch: { id: "b", line: 2 } };
    assert.equal(plain(decodeUplinkDetails(encodeUplinkDetails(one))), plain(one));
    assert.is(readSentAt(encodeUplinkDetails(one)), 5);
    const tricky = { ...plainUplink, properties: { userProperties: [['"s":7', "s"]] } } as const;
    assert.is(readSentAt(encodeUplinkDetails(tricky)), null);
    for (const sentAt of [0, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 1_700_000_000_000_001]) {
      assert.is(readSentAt(encodeUplinkDetails({ ...tricky, sentAt, key: '"s":8' })), sentAt);
    }
    assert.is(readSentAt(null), null);
    const down = { properties, receipt: 4 };
    assert.equal(plain(decodeDownlinkDetails(encodeDownlinkDetails(down))), plain(down));
    const many = { properties, to: [{ device: 1, receipt: null }] };
    assert.equal(plain(decodeDownlinksDetails(encodeDownlinksDetails(many))), plain(many));
    const connected = { deviceID: "d", expiry: 5, will };
    assert.equal(
      plain(decodeConnectDetails(encodeConnectDetails(connected), will.payload)),
      plain(connected),
    );
    const entry = { replaced: new Set([7, 2 ** 43]) };
    assert.equal(decodeEntryDetails(encodeEntryDetails(entry)), entry);
    const ended = { expiry: 3, endedAt: 1 };
    assert.equal(decodeDisconnectDetails(encodeDisconnectDetails(ended)), ended);
    const wanted = { retainHandling: 1 as const, identifier: null };
    assert.equal(decodeSubscribeDetails(encodeSubscribeDetails(wanted)), wanted);
    assert.equal(decodePlatformDetails(encodePlatformDetails([{ topic: "t", qos: 1 }])), [
      { topic: "t", qos: 1 },
    ]);
  });

  test("what there is nothing to say of takes no bytes", () => {
    assert.is(encodeUplinkDetails(plainUplink), null);
    assert.is(encodeDownlinkDetails({ properties: null, receipt: null }), null);
    assert.is(encodeEntryDetails({ replaced: new Set() }), null);
    assert.is(encodeDisconnectDetails({ expiry: null, endedAt: null }), null);
    assert.is(encodeSubscribeDetails({ retainHandling: 0, identifier: null }), null);
    assert.equal(decodeUplinkDetails(null), plainUplink);
    assert.equal(decodeDownlinksDetails(null).to, []);
  });
});

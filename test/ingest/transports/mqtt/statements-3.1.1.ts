/** The normative statements of MQTT 3.1.1 (appendix B), in our words, each with the test that shows it. */
import { client, notOffered, type Statement, shownBy } from "./statement.js";

const connect = shownBy("test/ingest/transports/mqtt/connect.slow.test");
const publish = shownBy("test/ingest/transports/mqtt/publish.slow.test");
const subscribe = shownBy("test/ingest/transports/mqtt/subscribe.test");
const sessions = shownBy("test/ingest/transports/mqtt/sessions.test");
const retained = shownBy("test/ingest/transports/mqtt/retained.test");
const wills = shownBy("test/ingest/transports/mqtt/wills.test");
const refusals = shownBy("test/ingest/transports/mqtt/connection/refusals.test");
const transports = shownBy("test/ingest/transports/mqtt/listeners/transports.slow.test");

const malformed = "a packet that is malformed ends the connection";
const malformedLists = "SUBSCRIBE, UNSUBSCRIBE and DISCONNECT that are malformed end the connection";
const willFlags = "flags for a will that is not there, and a will of QoS 3, are malformed";
const fields = "the fields that the flags announce must be there, in their order, and no others";
const connectTexts = "the texts of CONNECT must be UTF-8 without U+0000";
const topicText = "a topic must be UTF-8, without wildcards and U+0000, and not empty";
const topicAsIs = "a topic keeps U+FEFF, its case, and every level as it is";
const answers = "QoS 0 has no answer, QoS 1 PUBACK and QoS 2 PUBREC and PUBCOMP, with its packet id";
const freeIDs = "packet ids of ours are not 0 and not in use, also once they begin anew";
const order = "messages reach a subscriber in their order, each QoS, DUP 0 whatever the publisher's";
const suback = "SUBACK has the packet id of SUBSCRIBE and a code for each filter in its order";
const unsuback = "UNSUBACK has the packet id of UNSUBSCRIBE; only the same filter ends a subscription";
const found = "without a session Session Present is 0, and one begins; then it is found again";
const wait = "messages of QoS 1 and 2 wait for the client, in their order";
const again = "what is not acknowledged is sent again with its packet id and DUP, in its order";
const exactly = "until PUBREL a packet id of QoS 2 is answered and not taken again, after PUBCOMP it is new";
const ours = "QoS 2 of ours: PUBLISH, PUBREC, PUBREL, PUBCOMP, and the id stays in use between";
const refusal = "a refusal has Session Present 0 and a code of its version, and closes";
const removed = "one without a payload removes it, is delivered as any other, and is not kept";
const replaced = "a newer one replaces it, at QoS 0 too; without RETAIN nothing changes";
const newSubscription = "a retained message goes to each new subscription that covers it, with RETAIN 1";
const wildcards = "wildcards stand for levels, and not for topics that begin with $";
const wrongFilters = "wildcards in the wrong place and empty filters are refused";

export const statements: readonly Statement[] = [
  ["1.5.3-1", "texts are UTF-8, or the connection ends", publish(topicText)],
  ["1.5.3-2", "texts hold no U+0000, or the connection ends", connect(connectTexts)],
  ["1.5.3-3", "U+FEFF stays in a text", publish(topicAsIs)],
  ["2.2.2-1", "reserved flags have their value", publish(malformed)],
  ["2.2.2-2", "other flags end the connection", subscribe(malformedLists)],
  ["2.3.1-1", "packet ids are not 0", publish(malformed)],
  ["2.3.1-2", "a client's packet id is not in use", client],
  ["2.3.1-3", "a client repeats a packet with its id", client],
  ["2.3.1-4", "our packet ids are not in use", publish(freeIDs)],
  ["2.3.1-5", "QoS 0 has no packet id", publish(answers)],
  ["2.3.1-6", "acknowledgements have the id of their PUBLISH", publish(answers)],
  ["2.3.1-7", "SUBACK and UNSUBACK have the id of what they answer", subscribe(unsuback)],
  ["3.1.0-1", "CONNECT comes first", connect("the first packet must be CONNECT")],
  ["3.1.0-2", "a second CONNECT ends the connection", connect("a second CONNECT ends the connection")],
  [
    "3.1.2-1",
    "another protocol name is not served",
    connect("another protocol name is cut off without an answer"),
  ],
  [
    "3.1.2-2",
    "another level gets return code 1",
    connect("another protocol level is refused in words that its client knows"),
  ],
  ["3.1.2-3", "the reserved connect flag is 0", connect("the reserved connect flag is malformed")],
  ["3.1.2-4", "without Clean Session the session goes on or begins, and is kept", sessions(found)],
  ["3.1.2-5", "messages wait for a kept session", sessions(wait)],
  [
    "3.1.2-6",
    "Clean Session forgets, and is forgotten",
    sessions("a clean start forgets what was, and what is begun clean is not used again"),
  ],
  [
    "3.1.2-7",
    "retained messages outlive sessions",
    retained("it outlives the session that published it, and goes to no other device"),
  ],
  [
    "3.1.2-8",
    "a will is kept, and published when the connection ends",
    wills("a will is published once when the connection is lost, at its QoS"),
  ],
  ["3.1.2-9", "a will has its topic and message", connect(fields)],
  [
    "3.1.2-10",
    "a will is gone once published or after DISCONNECT",
    wills("DISCONNECT takes the will away, and without one nothing is published"),
  ],
  ["3.1.2-11", "without a will its flags and fields are absent", connect(willFlags)],
  [
    "3.1.2-12",
    "without a will none is published",
    wills("DISCONNECT takes the will away, and without one nothing is published"),
  ],
  ["3.1.2-13", "without a will its QoS is 0", connect(willFlags)],
  ["3.1.2-14", "a will's QoS is not 3", connect(willFlags)],
  ["3.1.2-15", "without a will it is not retained", connect(willFlags)],
  ["3.1.2-16", "a will without the flag is not retained", wills("a will is retained where its flag says so")],
  ["3.1.2-17", "a will with the flag is retained", wills("a will is retained where its flag says so")],
  ["3.1.2-18", "without its flag there is no user name", connect(fields)],
  ["3.1.2-19", "with its flag there is a user name", connect(fields)],
  ["3.1.2-20", "without its flag there is no password", connect(fields)],
  ["3.1.2-21", "with its flag there is a password", connect(fields)],
  ["3.1.2-22", "no password without a user name", connect("a password needs a user name before MQTT 5")],
  ["3.1.2-23", "a client pings in time", client],
  [
    "3.1.2-24",
    "silence for one and a half keep-alives ends the connection",
    connect("silence ends a connection after one and a half keep-alives"),
  ],
  ["3.1.3-1", "the payload's fields have an order", connect(fields)],
  [
    "3.1.3-2",
    "the client id names the session",
    connect("the same client id of a device takes over, another one lives beside it"),
  ],
  ["3.1.3-3", "the client id is there, first", connect(fields)],
  ["3.1.3-4", "the client id is UTF-8", connect(connectTexts)],
  [
    "3.1.3-5",
    "23 letters and digits are taken",
    connect("client ids of letters and digits are taken, and longer ones"),
  ],
  [
    "3.1.3-6",
    "an empty client id gets one of its own",
    connect("an empty client id is replaced by one that MQTT 5 receives"),
  ],
  ["3.1.3-7", "an empty client id comes with Clean Session", client],
  [
    "3.1.3-8",
    "an empty client id in a kept session gets return code 2",
    connect("an empty client id cannot keep a session"),
  ],
  ["3.1.3-9", "a refused client id gets return code 2", connect("a client id that is too long is refused")],
  ["3.1.3-10", "the will's topic is UTF-8", connect(connectTexts)],
  ["3.1.3-11", "the user name is UTF-8", connect(connectTexts)],
  [
    "3.1.4-1",
    "a malformed CONNECT is closed without CONNACK",
    connect("reserved flags of CONNECT's fixed header are malformed"),
  ],
  [
    "3.1.4-2",
    "the same client id ends the older connection",
    connect("the same client id of a device takes over, another one lives beside it"),
  ],
  [
    "3.1.4-3",
    "Clean Session is heeded",
    sessions("a clean start forgets what was, and what is begun clean is not used again"),
  ],
  [
    "3.1.4-4",
    "a good CONNECT gets return code 0",
    connect("CONNACK comes first and once, then what came with CONNECT is processed"),
  ],
  [
    "3.1.4-5",
    "nothing after a refused CONNECT is processed",
    connect("nothing after a refused CONNECT is processed"),
  ],
  [
    "3.2.0-1",
    "CONNACK comes first",
    connect("CONNACK comes first and once, then what came with CONNECT is processed"),
  ],
  [
    "3.2.2-1",
    "Clean Session gets Session Present 0",
    connect("a session that begins anew has Session Present 0"),
  ],
  ["3.2.2-2", "a kept session gets Session Present 1", sessions(found)],
  ["3.2.2-3", "without one Session Present is 0", sessions(found)],
  ["3.2.2-4", "a refusal has Session Present 0", connect(refusal)],
  ["3.2.2-5", "a refusal closes", connect(refusal)],
  [
    "3.2.2-6",
    "without a fitting code it closes without CONNACK",
    connect("the reserved connect flag is malformed"),
  ],
  ["3.3.1-1", "what is sent again has DUP", sessions(again)],
  ["3.3.1-2", "QoS 0 has no DUP", publish(malformed)],
  ["3.3.1-3", "the publisher's DUP is not handed on", publish(order)],
  ["3.3.1-4", "QoS 3 ends the connection", publish(malformed)],
  ["3.3.1-5", "a retained message is kept with its QoS", retained(newSubscription)],
  ["3.3.1-6", "a new subscription gets what is retained", retained(newSubscription)],
  ["3.3.1-7", "QoS 0 replaces what is retained", retained(replaced)],
  ["3.3.1-8", "what is retained comes with RETAIN 1", retained(newSubscription)],
  [
    "3.3.1-9",
    "live messages come with RETAIN 0",
    subscribe("a message to a subscriber has RETAIN 0, unless MQTT 5 wants it as published"),
  ],
  ["3.3.1-10", "an empty one removes what is retained", retained(removed)],
  ["3.3.1-11", "an empty one is not retained", retained(removed)],
  ["3.3.1-12", "without RETAIN nothing retained changes", retained(replaced)],
  ["3.3.2-1", "the topic comes first, in UTF-8", publish(topicText)],
  ["3.3.2-2", "a topic has no wildcards", publish(topicText)],
  ["3.3.2-3", "a subscriber gets topics that its filters cover", subscribe(wildcards)],
  ["3.3.4-1", "PUBLISH is answered by its QoS", publish(answers)],
  [
    "3.3.5-1",
    "overlapping filters deliver at the highest QoS",
    subscribe("a message comes once, at the lower of its QoS and the highest that covers it"),
  ],
  [
    "3.3.5-2",
    "a refused PUBLISH is acknowledged or ends the connection",
    refusals("3.1.1 has no word for no: a refused message is acknowledged"),
  ],
  ["3.6.1-1", "PUBREL has its flags", publish(malformed)],
  ["3.8.1-1", "SUBSCRIBE has its flags", subscribe(malformedLists)],
  ["3.8.3-1", "its filters are UTF-8", subscribe(malformedLists)],
  ["3.8.3-2", "where wildcards are not served they are refused", notOffered("they are served")],
  ["3.8.3-3", "SUBSCRIBE names a filter", subscribe(malformedLists)],
  [
    "3.8.3-4",
    "reserved bits and QoS 3 end the connection",
    subscribe("subscription options are the QoS alone"),
  ],
  ["3.8.4-1", "SUBSCRIBE is answered", subscribe(suback)],
  ["3.8.4-2", "SUBACK has its packet id", subscribe(suback)],
  [
    "3.8.4-3",
    "the same filter replaces, and retained messages come again",
    retained("subscribing again sends it again"),
  ],
  ["3.8.4-4", "many filters are one SUBACK", subscribe(suback)],
  ["3.8.4-5", "a code for each filter", subscribe(suback)],
  [
    "3.8.4-6",
    "the lower QoS of both",
    subscribe("a message comes once, at the lower of its QoS and the highest that covers it"),
  ],
  ["3.9.3-1", "codes stand in the order of the filters", subscribe(suback)],
  ["3.9.3-2", "codes are 0, 1, 2 or 0x80", subscribe(suback)],
  ["3.10.1-1", "UNSUBSCRIBE has its flags", subscribe(malformedLists)],
  ["3.10.3-1", "its filters are UTF-8", subscribe(malformedLists)],
  ["3.10.3-2", "UNSUBSCRIBE names a filter", subscribe(malformedLists)],
  ["3.10.4-1", "filters are compared byte by byte", subscribe(unsuback)],
  [
    "3.10.4-2",
    "nothing new is delivered after it",
    subscribe("what is under way when a subscription ends is completed, and nothing comes after it"),
  ],
  [
    "3.10.4-3",
    "what is under way is completed",
    subscribe("what is under way when a subscription ends is completed, and nothing comes after it"),
  ],
  ["3.10.4-4", "UNSUBACK has its packet id", subscribe(unsuback)],
  ["3.10.4-5", "it is answered though nothing ended", subscribe(unsuback)],
  ["3.10.4-6", "many filters are one UNSUBACK", subscribe(unsuback)],
  ["3.12.4-1", "PINGREQ is answered", subscribe("PINGREQ is answered")],
  ["3.14.1-1", "DISCONNECT has no flags", subscribe(malformedLists)],
  ["3.14.4-1", "a client closes after DISCONNECT", client],
  ["3.14.4-2", "a client sends nothing after DISCONNECT", client],
  [
    "3.14.4-3",
    "DISCONNECT takes the will away",
    wills("DISCONNECT takes the will away, and without one nothing is published"),
  ],
  ["4.1.0-1", "a session's state is kept as long as it lasts", sessions(found)],
  ["4.1.0-2", "a session lasts as long as its connection", sessions("a session that is taken over goes on")],
  ["4.3.1-1", "QoS 0 of ours has DUP 0", publish(order)],
  ["4.3.2-1", "QoS 1 of ours: a free id, DUP 0, kept until PUBACK", sessions(again)],
  [
    "4.3.2-2",
    "QoS 1 to us: PUBACK once kept, then the id is new",
    publish("after PUBACK the packet id is a new message, whatever its DUP flag"),
  ],
  ["4.3.3-1", "QoS 2 of ours in its four steps", publish(ours)],
  ["4.3.3-2", "QoS 2 to us is taken once", publish(exactly)],
  ["4.4.0-1", "a session that goes on sends again what is open", sessions(again)],
  ["4.5.0-1", "a message reaches every session whose filters cover it", sessions(wait)],
  ["4.5.0-2", "a client acknowledges what it gets", client],
  ["4.6.0-1", "what is sent again keeps its order", sessions(again)],
  ["4.6.0-2", "PUBACKs keep the order", publish("acknowledgements come in the order of the messages")],
  ["4.6.0-3", "PUBRECs keep the order", publish("acknowledgements come in the order of the messages")],
  ["4.6.0-4", "PUBRELs keep the order of PUBRECs", publish("PUBRELs come in the order of PUBRECs")],
  ["4.6.0-5", "every topic is ordered", publish(order)],
  ["4.6.0-6", "a subscriber gets a client's messages in their order", publish(order)],
  ["4.7.1-1", "topics have no wildcards", publish(topicText)],
  ["4.7.1-2", "# stands alone at the end", subscribe(wrongFilters)],
  ["4.7.1-3", "+ stands for a whole level", subscribe(wrongFilters)],
  ["4.7.2-1", "a leading wildcard leaves $ alone", subscribe(wildcards)],
  ["4.7.3-1", "topics and filters are not empty", subscribe(wrongFilters)],
  ["4.7.3-2", "topics and filters hold no U+0000", publish(topicText)],
  ["4.7.3-3", "topics and filters have up to 65,535 bytes", publish(topicAsIs)],
  ["4.7.3-4", "topics are compared as they are", publish(topicAsIs)],
  ["4.8.0-1", "a violation ends the connection", publish(malformed)],
  [
    "4.8.0-2",
    "what we cannot take for now ends the connection",
    refusals("what we cannot take for now ends the connection"),
  ],
  ["6.0.0-1", "WebSocket frames are binary", transports("a text frame ends the connection [MQTT-6.0.0-1]")],
  [
    "6.0.0-2",
    "packets and WebSocket frames need not meet",
    transports("packets and frames need not meet [MQTT-6.0.0-2]"),
  ],
  ["6.0.0-3", "a client offers the subprotocol mqtt", client],
  [
    "6.0.0-4",
    "we name the subprotocol mqtt",
    transports("both subprotocols on any path; nothing is compressed"),
  ],
  [
    "7.0.0-1",
    "who connects to other servers is a client too",
    notOffered("no connection goes to another server"),
  ],
  [
    "7.0.0-2",
    "nothing beyond the specification is needed",
    shownBy("test/ingest/transports/mqtt/clients.slow.test")("paho speaks 3.1, 3.1.1 and 5 with us"),
  ],
  [
    "7.1.1-1",
    "an ordered, lossless stream of bytes",
    connect("CONNACK comes first and once, then what came with CONNECT is processed"),
  ],
  ["7.1.2-1", "a client uses an ordered, lossless stream", client],
];

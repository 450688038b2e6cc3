/** The normative statements of MQTT 5.0 (appendix B), in our words, each with the test that shows it. */
import { client, notOffered, type Statement, shownBy } from "./statement.js";

const connect = shownBy("test/ingest/transports/mqtt/connect.slow.test");
const publish = shownBy("test/ingest/transports/mqtt/publish.slow.test");
const subscribe = shownBy("test/ingest/transports/mqtt/subscribe.test");
const sessions = shownBy("test/ingest/transports/mqtt/sessions.test");
const retained = shownBy("test/ingest/transports/mqtt/retained.test");
const wills = shownBy("test/ingest/transports/mqtt/wills.test");
const refusals = shownBy("test/ingest/transports/mqtt/connection/refusals.test");
const transports = shownBy("test/ingest/transports/mqtt/listeners/transports.slow.test");

const malformed = publish("a packet that is malformed ends the connection");
const malformedLists = subscribe(
  "SUBSCRIBE, UNSUBSCRIBE and DISCONNECT that are malformed end the connection",
);
const wrongProperties = publish("properties that PUBLISH may not have end the connection");
const wrongOptions = subscribe(
  "options and properties that SUBSCRIBE and UNSUBSCRIBE may not have end the connection",
);
const willFlags = connect("flags for a will that is not there, and a will of QoS 3, are malformed");
const fields = connect("the fields that the flags announce must be there, in their order, and no others");
const connectTexts = connect("the texts of CONNECT must be UTF-8 without U+0000");
const topicText = publish("a topic must be UTF-8, without wildcards and U+0000, and not empty");
const topicAsIs = publish("a topic keeps U+FEFF, its case, and every level as it is");
const acks = publish("QoS 0 has no answer, QoS 1 PUBACK and QoS 2 PUBREC and PUBCOMP, with its packet id");
const freeIDs = publish("packet ids of ours are not 0 and not in use, also once they begin anew");
const order = publish("messages reach a subscriber in their order, each QoS, DUP 0 whatever the publisher's");
const suback = subscribe("SUBACK has the packet id of SUBSCRIBE and a code for each filter in its order");
const unsuback = subscribe(
  "UNSUBACK has the packet id of UNSUBSCRIBE; only the same filter ends a subscription",
);
const underWay = subscribe(
  "what is under way when a subscription ends is completed, and nothing comes after it",
);
const found = sessions("without a session Session Present is 0, and one begins; then it is found again");
const clean = sessions("a clean start forgets what was, and what is begun clean is not used again");
const again = sessions("what is not acknowledged is sent again with its packet id and DUP, in its order");
const expired = sessions("what expires while the client is away is not sent; the rest has less time left");
const exactly = publish(
  "until PUBREL a packet id of QoS 2 is answered and not taken again, after PUBCOMP it is new",
);
const ours = publish("QoS 2 of ours: PUBLISH, PUBREC, PUBREL, PUBCOMP, and the id stays in use between");
const window = publish("no more messages are in flight than the client takes, and other packets go on");
const tooLarge = publish("a message too large is refused with 0x97, and nothing is kept of it");
const tooMany = publish("more unacknowledged messages than we take end the connection with 0x93");
const aliasesIn = publish("topic aliases of the client stand for topics, on their connection only");
const aliasesOut = publish("topic aliases of ours stay within what the client allows");
const added = publish("what the publisher adds reaches the subscriber unaltered and in its order");
const refusedMessage = publish("a refusal of a message ends its delivery");
const refusal = connect("a refusal has Session Present 0 and a code of its version, and closes");
const small = connect("a packet is never larger than the client allows");
const connack = connect("CONNACK comes first and once, then what came with CONNECT is processed");
const takesOver = connect("the same client id of a device takes over, another one lives beside it");
const given = connect("an empty client id is replaced by one that MQTT 5 receives");
const newSubscription = retained(
  "a retained message goes to each new subscription that covers it, with RETAIN 1",
);
const removed = retained("one without a payload removes it, is delivered as any other, and is not kept");
const handling = retained("Retain Handling: at each SUBSCRIBE, at a new subscription, never");
const asPublished = subscribe("a message to a subscriber has RETAIN 0, unless MQTT 5 wants it as published");
const lost = wills("a will is published once when the connection is lost, at its QoS");
const leave = wills("DISCONNECT takes the will away, and without one nothing is published");
const once = subscribe("a message comes once, at the lower of its QoS and the highest that covers it");
const identifiers = subscribe("the identifiers of every subscription that brings a message go with it");
const wildcards = subscribe("wildcards stand for levels, and not for topics that begin with $");
const wrongFilters = subscribe("wildcards in the wrong place and empty filters are refused");
const farewell = subscribe("after our DISCONNECT nothing follows, and the connection is closed");
const noAuthentication = connect("an authentication method is refused with 0x8C, and no AUTH is sent");
const shortWords = refusals(
  "words that do not fit are left out, and an answer that does not fit without them is none",
);
const shared = notOffered("shared subscriptions: a device's space has one owner; SUBACK says 0x9E");
const authentication = notOffered("enhanced authentication: CONNACK says 0x8C");
const noPairs = notOffered("no user property of ours goes with an answer");
const everything = (what: string) => notOffered(`${what} is offered without a limit`);

export const statements: readonly Statement[] = [
  ["1.5.4-1", "texts are UTF-8", connectTexts],
  ["1.5.4-2", "texts hold no U+0000", connectTexts],
  ["1.5.4-3", "U+FEFF stays in a text", topicAsIs],
  ["1.5.5-1", "integers are as short as they can be", publish("a remaining length is as short as it can be")],
  ["1.5.7-1", "both texts of a pair are texts", wrongProperties],
  ["2.1.3-1", "reserved flags have their value", malformed],
  ["2.2.1-2", "QoS 0 has no packet id", acks],
  ["2.2.1-3", "a client's packet ids are not 0 and not in use", client],
  ["2.2.1-4", "our packet ids are not 0 and not in use", freeIDs],
  ["2.2.1-5", "acknowledgements have the id of their PUBLISH", acks],
  ["2.2.1-6", "SUBACK and UNSUBACK have the id of what they answer", unsuback],
  ["2.2.2-1", "without properties there is a length of 0", acks],
  ["3.1.0-1", "CONNECT comes first", connect("the first packet must be CONNECT")],
  ["3.1.0-2", "a second CONNECT ends the connection", connect("a second CONNECT ends the connection")],
  [
    "3.1.2-1",
    "another protocol name is not served",
    connect("another protocol name is cut off without an answer"),
  ],
  [
    "3.1.2-2",
    "another version receives 0x84",
    connect("another protocol level is refused in words that its client knows"),
  ],
  ["3.1.2-3", "the reserved connect flag is 0", connect("the reserved connect flag is malformed")],
  ["3.1.2-4", "Clean Start forgets the session", clean],
  ["3.1.2-5", "without it a session goes on", found],
  ["3.1.2-6", "or begins", found],
  ["3.1.2-7", "a will is kept with the session", lost],
  [
    "3.1.2-8",
    "a will is published after the connection, or its delay",
    wills("a will with a delay is published at the latest when its session ends"),
  ],
  ["3.1.2-9", "a will has its properties, topic and payload", fields],
  ["3.1.2-10", "a will is gone once published or after DISCONNECT", leave],
  ["3.1.2-11", "without a will its QoS is 0", willFlags],
  ["3.1.2-12", "a will's QoS is not 3", willFlags],
  ["3.1.2-13", "without a will it is not retained", willFlags],
  ["3.1.2-14", "a will without the flag is not retained", wills("a will is retained where its flag says so")],
  ["3.1.2-15", "a will with the flag is retained", wills("a will is retained where its flag says so")],
  ["3.1.2-16", "without its flag there is no user name", fields],
  ["3.1.2-17", "with its flag there is a user name", fields],
  ["3.1.2-18", "without its flag there is no password", fields],
  ["3.1.2-19", "with its flag there is a password", fields],
  ["3.1.2-20", "a client pings in time", client],
  ["3.1.2-21", "a client uses the server's keep-alive", client],
  [
    "3.1.2-22",
    "silence for one and a half keep-alives ends the connection",
    connect("silence ends a connection after one and a half keep-alives"),
  ],
  ["3.1.2-23", "a session with an expiry outlives its connection", found],
  ["3.1.2-24", "no packet is larger than the client allows", small],
  ["3.1.2-25", "a message that is too large is dropped as if it were sent", small],
  ["3.1.2-26", "no alias is beyond what the client allows", aliasesOut],
  ["3.1.2-27", "without an allowance there are none", aliasesOut],
  [
    "3.1.2-28",
    "no response information without a request",
    connect("CONNACK says what we take and what is not offered"),
  ],
  [
    "3.1.2-29",
    "reasons in words only where they are wanted",
    connect("reasons in words go to whom asks for them"),
  ],
  ["3.1.2-30", "a client that authenticates sends AUTH alone", client],
  ["3.1.3-1", "the payload's fields have an order", fields],
  ["3.1.3-2", "the client id names the session", takesOver],
  ["3.1.3-3", "the client id is there, first", fields],
  ["3.1.3-4", "the client id is UTF-8", connectTexts],
  [
    "3.1.3-5",
    "23 letters and digits are taken",
    connect("client ids of letters and digits are taken, and longer ones"),
  ],
  ["3.1.3-6", "an empty client id gets one of its own", given],
  ["3.1.3-7", "CONNACK contains it", given],
  ["3.1.3-8", "a refused client id receives 0x85", connect("a client id that is too long is refused")],
  [
    "3.1.3-9",
    "no will where the session goes on within its delay",
    wills("a will with a delay waits, and is not published where the session goes on in time"),
  ],
  [
    "3.1.3-10",
    "a will's user properties keep their order",
    wills("a will has its properties, its user properties in their order"),
  ],
  ["3.1.3-11", "the will's topic is UTF-8", connectTexts],
  ["3.1.3-12", "the user name is UTF-8", connectTexts],
  [
    "3.1.4-1",
    "a malformed CONNECT is closed",
    connect("values that a property may not have are protocol errors"),
  ],
  ["3.1.4-2", "who may not connect is closed", refusal],
  ["3.1.4-3", "the older connection of a client id receives 0x8E", takesOver],
  ["3.1.4-4", "Clean Start is heeded", clean],
  [
    "3.1.4-5",
    "a good CONNECT gets reason 0",
    connect("what comes with CONNECT may be as large as what comes later"),
  ],
  [
    "3.1.4-6",
    "nothing after a refused CONNECT is processed",
    connect("nothing after a refused CONNECT is processed"),
  ],
  ["3.2.0-1", "CONNACK comes first", connack],
  ["3.2.0-2", "CONNACK comes once", connack],
  ["3.2.2-1", "its flags but one are 0", connack],
  [
    "3.2.2-2",
    "Clean Start gets Session Present 0",
    connect("a session that begins anew has Session Present 0"),
  ],
  ["3.2.2-3", "Session Present says whether there was one", found],
  ["3.2.2-4", "a client without a session closes on Session Present 1", client],
  ["3.2.2-5", "a client with one forgets it on Session Present 0", client],
  ["3.2.2-6", "a refusal has Session Present 0", refusal],
  ["3.2.2-7", "a refusal closes", refusal],
  ["3.2.2-8", "CONNACK has a code of its own", refusal],
  ["3.2.2-9", "less than QoS 2 would be announced", everything("QoS")],
  ["3.2.2-10", "SUBSCRIBE may still ask for more", everything("QoS")],
  ["3.2.2-11", "a client heeds Maximum QoS", client],
  ["3.2.2-12", "a will of a QoS that is not served is refused", everything("QoS")],
  ["3.2.2-13", "a retained will that is not served is refused", everything("retaining")],
  ["3.2.2-14", "a client heeds Retain Available", client],
  ["3.2.2-15", "a client heeds Maximum Packet Size", client],
  ["3.2.2-16", "an assigned client id is nobody else's", given],
  ["3.2.2-17", "a client heeds Topic Alias Maximum", client],
  ["3.2.2-18", "a client without one uses no alias", client],
  ["3.2.2-19", "CONNACK goes without words where they do not fit", small],
  ["3.2.2-20", "CONNACK goes without pairs where they do not fit", noPairs],
  ["3.2.2-21", "a client uses the server's keep-alive", client],
  [
    "3.2.2-22",
    "without one the client's counts",
    connect("silence ends a connection after one and a half keep-alives"),
  ],
  ["3.3.1-1", "what is sent again has DUP", again],
  ["3.3.1-2", "QoS 0 has no DUP", malformed],
  ["3.3.1-3", "the publisher's DUP is not handed on", order],
  ["3.3.1-4", "there is no QoS 3", malformed],
  [
    "3.3.1-5",
    "a retained message replaces the one before",
    retained("a newer one replaces it, at QoS 0 too; without RETAIN nothing changes"),
  ],
  ["3.3.1-6", "an empty one removes it", removed],
  ["3.3.1-7", "an empty one is not retained", removed],
  [
    "3.3.1-8",
    "without RETAIN nothing retained changes",
    retained("a newer one replaces it, at QoS 0 too; without RETAIN nothing changes"),
  ],
  ["3.3.1-9", "Retain Handling 0 sends what is retained", newSubscription],
  ["3.3.1-10", "Retain Handling 1 sends it to new subscriptions", handling],
  ["3.3.1-11", "Retain Handling 2 does not send it", handling],
  ["3.3.1-12", "without Retain As Published RETAIN is 0", asPublished],
  ["3.3.1-13", "with it RETAIN is the publisher's", asPublished],
  ["3.3.2-1", "the topic comes first, in UTF-8", topicText],
  ["3.3.2-2", "a topic has no wildcards", topicText],
  ["3.3.2-3", "a subscriber gets topics that its filters cover", wildcards],
  ["3.3.2-4", "the payload's format is handed on", added],
  ["3.3.2-5", "what has expired is not sent", expired],
  [
    "3.3.2-6",
    "the time waited is taken off",
    publish("a message that has expired is not sent, and what it has waited is taken off"),
  ],
  ["3.3.2-7", "aliases end with their connection", aliasesIn],
  ["3.3.2-8", "alias 0 stands for nothing", wrongProperties],
  ["3.3.2-9", "a client heeds Topic Alias Maximum", client],
  ["3.3.2-10", "a client takes every alias that it allows", client],
  ["3.3.2-11", "no alias of ours is beyond what the client allows", aliasesOut],
  ["3.3.2-12", "every alias that we allow is taken", aliasesIn],
  ["3.3.2-13", "a response topic is UTF-8", wrongProperties],
  ["3.3.2-14", "a response topic has no wildcards", wrongProperties],
  ["3.3.2-15", "a response topic is handed on", added],
  ["3.3.2-16", "correlation data are handed on", added],
  ["3.3.2-17", "user properties are handed on", added],
  ["3.3.2-18", "user properties keep their order", added],
  ["3.3.2-19", "a content type is UTF-8", wrongProperties],
  ["3.3.2-20", "a content type is handed on", added],
  ["3.3.4-1", "PUBLISH is answered by its QoS", acks],
  ["3.3.4-2", "overlapping filters deliver at the highest QoS", once],
  ["3.3.4-3", "subscription identifiers go with the message", identifiers],
  ["3.3.4-4", "one copy has all of them", identifiers],
  ["3.3.4-5", "several copies have one each", notOffered("a session gets one copy")],
  ["3.3.4-6", "a client names no subscription", client],
  ["3.3.4-7", "a client heeds our Receive Maximum, or is cut off", tooMany],
  ["3.3.4-8", "a client goes on with other packets", client],
  ["3.3.4-9", "we heed the client's Receive Maximum", window],
  ["3.3.4-10", "we go on with other packets", window],
  ["3.4.2-1", "PUBACK has a code of its own", refusals("MQTT 5 receives 0x87, and nothing is kept")],
  ["3.4.2-2", "PUBACK goes without words where they do not fit", shortWords],
  ["3.4.2-3", "PUBACK goes without pairs where they do not fit", noPairs],
  ["3.5.2-1", "PUBREC has a code of its own", tooLarge],
  ["3.5.2-2", "PUBREC goes without words where they do not fit", shortWords],
  ["3.5.2-3", "PUBREC goes without pairs where they do not fit", noPairs],
  ["3.6.1-1", "PUBREL has its flags", malformed],
  [
    "3.6.2-1",
    "PUBREL has a code of its own",
    publish("PUBREC of an unknown packet id is answered with PUBREL 0x92, unless it is a refusal"),
  ],
  ["3.6.2-2", "PUBREL goes without words where they do not fit", shortWords],
  ["3.6.2-3", "PUBREL goes without pairs where they do not fit", noPairs],
  ["3.7.2-1", "PUBCOMP has a code of its own", publish("PUBREL of an unknown packet id is answered")],
  ["3.7.2-2", "PUBCOMP goes without words where they do not fit", small],
  ["3.7.2-3", "PUBCOMP goes without pairs where they do not fit", noPairs],
  ["3.8.1-1", "SUBSCRIBE has its flags", malformedLists],
  ["3.8.3-1", "its filters are UTF-8", malformedLists],
  ["3.8.3-2", "SUBSCRIBE names a filter", malformedLists],
  [
    "3.8.3-3",
    "No Local keeps away what the client has published",
    subscribe("No Local keeps away what the client itself has published, and nothing else"),
  ],
  ["3.8.3-4", "No Local on a shared subscription is an error", wrongOptions],
  ["3.8.3-5", "reserved options are malformed", malformedLists],
  ["3.8.4-1", "SUBSCRIBE is answered", suback],
  ["3.8.4-2", "SUBACK has its packet id", suback],
  ["3.8.4-3", "the same filter replaces", subscribe("a filter that is subscribed again replaces what was")],
  [
    "3.8.4-4",
    "with Retain Handling 0 what is retained comes again",
    retained("subscribing again sends it again"),
  ],
  ["3.8.4-5", "many filters are one SUBACK", suback],
  ["3.8.4-6", "a code for each filter", suback],
  ["3.8.4-7", "it is the QoS granted or a failure", suback],
  ["3.8.4-8", "the lower QoS of both", once],
  ["3.9.2-1", "SUBACK goes without words where they do not fit", small],
  ["3.9.2-2", "SUBACK goes without pairs where they do not fit", noPairs],
  ["3.9.3-1", "codes stand in the order of the filters", suback],
  ["3.9.3-2", "they are codes of SUBACK", suback],
  ["3.10.1-1", "UNSUBSCRIBE has its flags", malformedLists],
  ["3.10.3-1", "its filters are UTF-8", malformedLists],
  ["3.10.3-2", "UNSUBSCRIBE names a filter", malformedLists],
  ["3.10.4-1", "filters are compared character by character", unsuback],
  ["3.10.4-2", "nothing new is delivered after it", underWay],
  ["3.10.4-3", "what is under way is completed", underWay],
  ["3.10.4-4", "UNSUBSCRIBE is answered", unsuback],
  ["3.10.4-5", "UNSUBACK has its packet id, though nothing ended", unsuback],
  ["3.10.4-6", "many filters are one UNSUBACK", unsuback],
  ["3.11.2-1", "UNSUBACK goes without words where they do not fit", notOffered("it never has any")],
  ["3.11.2-2", "UNSUBACK goes without pairs where they do not fit", noPairs],
  ["3.11.3-1", "codes stand in the order of the filters", unsuback],
  ["3.11.3-2", "they are codes of UNSUBACK", unsuback],
  ["3.12.4-1", "PINGREQ is answered", subscribe("PINGREQ is answered")],
  ["3.14.0-1", "no DISCONNECT before CONNACK", small],
  ["3.14.1-1", "DISCONNECT has no flags", malformedLists],
  ["3.14.2-1", "DISCONNECT has a code of its own", farewell],
  ["3.14.2-2", "ours has no session expiry", farewell],
  ["3.14.2-3", "it goes without words where they do not fit", small],
  ["3.14.2-4", "it goes without pairs where they do not fit", noPairs],
  ["3.14.4-1", "nothing follows it", farewell],
  ["3.14.4-2", "who sends it closes", farewell],
  ["3.14.4-3", "DISCONNECT 0 takes the will away", leave],
  ["3.15.1-1", "AUTH has no flags", connect("AUTH is a protocol error")],
  ["3.15.2-1", "AUTH has a code of its own", authentication],
  ["3.15.2-2", "AUTH goes without words where they do not fit", authentication],
  ["3.15.2-3", "AUTH goes without pairs where they do not fit", authentication],
  [
    "4.1.0-1",
    "a session's state is kept while it is connected",
    sessions("a session that is taken over goes on"),
  ],
  [
    "4.1.0-2",
    "a session is forgotten once its expiry has passed",
    sessions("a session ends when its expiry has passed"),
  ],
  ["4.2.0-1", "an ordered, lossless stream of bytes", connack],
  ["4.3.1-1", "QoS 0 of ours has DUP 0", order],
  ["4.3.2-1", "QoS 1 of ours has a free id", freeIDs],
  ["4.3.2-2", "it has DUP 0 at first", order],
  ["4.3.2-3", "it is open until PUBACK", again],
  ["4.3.2-4", "QoS 1 to us gets PUBACK once it is kept", acks],
  [
    "4.3.2-5",
    "after PUBACK the id is a new message",
    publish("after PUBACK the packet id is a new message, whatever its DUP flag"),
  ],
  ["4.3.3-1", "QoS 2 of ours has a free id", freeIDs],
  ["4.3.3-2", "it has DUP 0 at first", ours],
  ["4.3.3-3", "it is open until PUBREC", again],
  ["4.3.3-4", "PUBREC below 0x80 gets PUBREL", refusedMessage],
  ["4.3.3-5", "PUBREL is open until PUBCOMP", again],
  ["4.3.3-6", "nothing is sent again after PUBREL", ours],
  ["4.3.3-7", "what has been sent does not expire", publish("what has been sent does not expire")],
  ["4.3.3-8", "QoS 2 to us gets PUBREC once it is kept", acks],
  ["4.3.3-9", "after a PUBREC of 0x80 the id is new", refusals("MQTT 5 receives 0x87, and nothing is kept")],
  ["4.3.3-10", "until PUBREL the id is answered and taken once", exactly],
  ["4.3.3-11", "PUBREL gets PUBCOMP with its id", acks],
  ["4.3.3-12", "after PUBCOMP the id is new", exactly],
  [
    "4.3.3-13",
    "the exchange is completed though the message has expired",
    publish("what expires at once is still acknowledged in full"),
  ],
  ["4.4.0-1", "a session that goes on sends again what is open, and only then", again],
  ["4.4.0-2", "a refusal acknowledges", refusedMessage],
  [
    "4.5.0-1",
    "a message reaches every session whose filters cover it",
    sessions("messages of QoS 1 and 2 wait for the client, in their order"),
  ],
  ["4.5.0-2", "a client acknowledges what it gets", client],
  ["4.6.0-1", "a client sends again in order", client],
  ["4.6.0-2", "a client's PUBACKs keep the order", client],
  ["4.6.0-3", "a client's PUBRECs keep the order", client],
  ["4.6.0-4", "a client's PUBRELs keep the order", client],
  ["4.6.0-5", "a subscriber gets a client's messages in their order", order],
  ["4.6.0-6", "every topic is ordered", order],
  ["4.7.0-1", "topics have no wildcards", topicText],
  ["4.7.1-1", "# stands alone at the end", wrongFilters],
  ["4.7.1-2", "+ stands for a whole level", wrongFilters],
  ["4.7.2-1", "a leading wildcard leaves $ alone", wildcards],
  ["4.7.3-1", "topics and filters are not empty", wrongFilters],
  ["4.7.3-2", "topics and filters hold no U+0000", topicText],
  ["4.7.3-3", "topics and filters have up to 65,535 bytes", topicAsIs],
  ["4.7.3-4", "topics are compared as they are", topicAsIs],
  ["4.8.2-1", "a shared filter names its group", shared],
  ["4.8.2-2", "a group's name has no wildcards", shared],
  ["4.8.2-3", "its members have their own QoS", shared],
  ["4.8.2-4", "what is under way is completed with the same member", shared],
  ["4.8.2-5", "what is under way is not given to another", shared],
  ["4.8.2-6", "what a member refuses is not given to another", shared],
  ["4.9.0-1", "the quota begins at no more than Receive Maximum", window],
  ["4.9.0-2", "at 0 nothing of QoS 1 and 2 is sent", window],
  ["4.9.0-3", "at 0 everything else goes on", window],
  ["4.12.0-1", "an unknown method is refused", noAuthentication],
  ["4.12.0-2", "AUTH that goes on has 0x18", authentication],
  ["4.12.0-3", "a client answers AUTH", client],
  ["4.12.0-4", "the server may refuse at any step", authentication],
  ["4.12.0-5", "one method goes through all of it", authentication],
  ["4.12.0-6", "without a method there is no AUTH of ours", noAuthentication],
  ["4.12.0-7", "without a method a client sends no AUTH", connect("AUTH is a protocol error")],
  ["4.12.1-1", "a client authenticates again by the same method", client],
  ["4.12.1-2", "where that fails the connection ends", authentication],
  ["4.13.1-1", "what is malformed or an error ends the connection", malformed],
  ["4.13.2-1", "a code of failure ends the connection", farewell],
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
];

/**
 * Each promise of docs/security.md, and each bound of its table, is shown by a test that is named here: a promise that
 * nobody tests is found by this list, and a test that goes takes its promise with it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.js";
import { assert, suite } from "../suite.js";

type Shown = readonly [file: string, ...tests: string[]];

/** By number. */
const promises: Readonly<Record<string, Shown>> = {
  "1": ["security/routes", "without credentials each is refused, before any of its body has come"],
  "2": [
    "ingest/access/guessing",
    "a token that was right before comes in while others guess from its address",
  ],
  "3": [
    "api/http-connections",
    "whoever does not read is not answered on: requests wait unread, and hold little",
  ],
  "4": [
    "flow/set-aside",
    "it is set aside, what was around it is there, and once it does no harm it is replayed",
  ],
  "5": [
    "notifications/templates",
    "no template ends more than itself: it fails with a reason, and the next one is rendered",
  ],
};

/** By what the first cell of the row begins with. */
const bounds: Readonly<Record<string, Shown>> = {
  "HTTP connections": [
    "api/http-connections",
    "with every place taken, whoever comes displaces an unauthenticated client of the most frequent address",
  ],
  "answers that are not read yet": [
    "api/answer-room",
    "bytes come back as they are read, at the end, at an error and when nobody reads on",
  ],
  "answers made at once": [
    "api/answer-room",
    "answers are made some at a time; a tenant that has all its turns leaves one to others",
  ],
  "heads of HTTP requests": [
    "flow/held-bytes",
    "logins in chunks of one byte that do not end take a few kilobytes each",
    "bodies of a caller that do not end hold what is promised; the rest is 503, and other tenants get in",
  ],
  "bodies of devices' requests": [
    "flow/held-bytes",
    "bodies in chunks of one byte take a few times their bytes, are kept, and hold up nobody",
  ],
  "ids of messages and batches": [
    "ingest/uplinks/repeats",
    "no more is read for a device than 64 MiB, the newest first",
  ],
  "frames of plain WebSockets": [
    "flow/held-bytes",
    "frames that wait for a limit are counted by their bytes: the client is not read",
  ],
  "polls of a device": [
    "ingest/transports/http/polls",
    "with a ninth the oldest ends without a message, and a message goes to the oldest that waits",
  ],
  "parsing of HTTP requests": [
    "api/http-connections",
    "one write of requests is parsed in pieces, each in a turn of its own",
  ],
  "MQTT connections": [
    "ingest/access/connection-places",
    "devices that have been let in stay, those behind one address too; a tenant leaves places to others",
  ],
  "messages and bytes a second": [
    "ingest/access/limits",
    "a burst passes, what follows keeps the rate to the millisecond",
  ],
  "TLS handshakes": [
    "ingest/transports/mqtt/listeners/tls",
    "one address has seven eighths at most; another gets in at once",
  ],
  "passwords being checked": [
    "api/passwords",
    "unknown users cost what known ones do, each address in its own turns, a subscriber of IPv6 in one",
  ],
  "guesses that are remembered": [
    "ingest/access/back-off",
    "a flood of names takes nobody's wait away, and its own address pays when there is no place left",
  ],
  "messages held for clients": [
    "ingest/sessions/bounds",
    "one tenant's full queues cost another nothing, and leave room to newcomers",
  ],
  "reading of MQTT": [
    "ingest/transports/mqtt/connection/reading",
    "is shared by tenants: hundreds of one hold up another no longer than one of theirs",
  ],
  "matching of topics": ["ingest/transports/mqtt/bad-input", "1,000 levels are matched in one walk"],
  "points held for live feeds": [
    "ingest/live/feed",
    "bytes are bounded by tenant and in all: one tenant's unread feeds leave the others their room",
  ],
  "how many events an owner has": [
    "store/events/segment-counts",
    "are kept of all index files together up to a bound, those that were asked for last",
  ],
  "questions to the event indexes": [
    "store/events/segment-counts",
    "questions that are asked at once, of one or of several, do not hold one turn of the loop",
  ],
  "computing of formulas": ["query/instants", "who has seen enough, or has computed for too long, ends it"],
  "what one message may raise": [
    "ingest/alerts/evaluate",
    "many causes that swing in one message are bounded together; each is left as its last point says",
  ],
  "templates of notifications": [
    "ingest/sandbox/sandbox",
    "what computes too long, holds too much or nests too deeply is ended; the next sandbox works",
  ],
  mail: [
    "notifications/mail-quota",
    "an hour has as many recipients as the limits say, whenever it begins, also after a restart",
  ],
  "alert rules": [
    "api/alert-rules",
    "a data point and a product have so many rules and no more; what is there can be edited",
  ],
  "ended alerts, control logs": [
    "alerts/alert-retention",
    "beyond its rows a tenant's oldest go, and no other's; current ones do not count",
  ],
  "connections to InfluxDB": [
    "store/series/embedded/turns",
    "of every kind of question a tenant has nearly all places, and another's is next",
  ],
  "requests to a map's tile server": [
    "api/map-tiles",
    "a server that hangs is not waited for without end, and takes no other's turn",
  ],
  "space on the disk": [
    "api/disk-space",
    "a tenant alone gets nearly all and leaves room to others; what is removed is free again",
  ],
  "the journal's disk": ["api/disk-space", "what the journal needs is not spare"],
};

const page = readFileSync(join(repositoryRoot(), "docs", "security.md"), "utf8");
const section = (title: string): string => page.split(/^## /m).find((one) => one.startsWith(title)) ?? "";

suite("promises of docs/security.md", (test) => {
  test("each is shown by a test, and so is each bound", () => {
    const numbers = [...section("What is promised").matchAll(/^(\d+)\. /gm)].map(([, number = ""]) => number);
    assert.equal(numbers, Object.keys(promises));
    const rows = [...section("The bounds").matchAll(/^\| ([^|]*) \|/gm)]
      .map(([, cell = ""]) => cell)
      .slice(1);
    const names = rows.map((cell) => Object.keys(bounds).find((name) => cell.startsWith(name)) ?? cell);
    assert.equal(names, Object.keys(bounds));
  });

  test("each of these tests is there", () => {
    const absent = [...Object.values(promises), ...Object.values(bounds)].flatMap(([file, ...names]) => {
      const source = readFileSync(join(repositoryRoot(), "test", `${file}.test.ts`), "utf8");
      return names.filter((name) => !source.includes(`"${name}"`)).map((name) => `${file}: ${name}`);
    });
    assert.equal(absent, []);
  });
});

/**
 * Each promise of docs/security.md, and each bound of its table, is shown by tests that are named here, several where it
 * has several clauses: a promise that nobody tests is found by this list, and a test that goes takes its promise with it.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.js";
import { assert, suite } from "../suite.js";

/** Tests by their file: one for each clause that another does not show. */
type Shown = Readonly<Record<string, readonly string[]>>;

/** By number. */
const promises: Readonly<Record<string, Shown>> = {
  "1": {
    "security/routes": ["without credentials each is refused, before any of its body has come"],
    "api/http-connections": [
      "with every place taken, whoever comes displaces an unauthenticated client of the most frequent address",
      "long heads of one address, whose bodies do not end, leave others their part of the budget",
    ],
  },
  "2": {
    "ingest/access/guessing": ["a token that was right before comes in while others guess from its address"],
    "ingest/access/back-off": ["a token that was right before gets in during a wait, which it does not end"],
    "api/passwords": ["a password that was right before needs no turn; a wrong one is never told sooner"],
  },
  "3": {
    "api/http-connections": [
      "whoever does not read is not answered on: requests wait unread, and hold little",
      "requests that come together are worked off one after the other, in order",
      "what a tenant's callers leave unfinished takes nothing of another's, nor of unauthenticated clients",
    ],
    "api/response-budget": [
      "one tenant leaves a part to others, small answers are counted and never wait, all comes back",
    ],
  },
  "4": {
    "flow/dead-letter-routes": [
      "it is set aside, what was around it is there, and once it does no harm it is replayed",
    ],
  },
  "5": {
    "notifications/templates": [
      "no template ends more than itself: it fails with a reason, and the next one is rendered",
    ],
    "notifications/template-program": ["what is hidden from templates on Node.js is hidden here"],
    "published/formulas": [
      "CVE-2017-1001003 (mathjs): escapes and spellings of constructor reach no property",
      "CVE-2025-12735 (expr-eval): a formula calls the functions of the reference and no other",
    ],
    "published/files": [
      "CVE-2021-23413 (JSZip): parts named like properties of every object are parts like others",
    ],
    "published/platforms": [
      "CVE-2024-1442 (Grafana): a record named like a wildcard is that record and no other",
    ],
  },
};

/** By what the first cell of the row begins with. */
const bounds: Readonly<Record<string, Shown>> = {
  "HTTP connections": {
    "api/http-connections": [
      "with every place taken, whoever comes displaces an unauthenticated client of the most frequent address",
    ],
  },
  "answers that are not read yet": {
    "api/response-budget": [
      "bytes come back as they are read, at the end, at an error and when nobody reads on",
      "one tenant leaves a part to others, small answers are counted and never wait, all comes back",
      "an answer to a device has its room at once or not at all",
    ],
    "api/frame": ["a packed one is counted by its bytes until it has been sent, like a text"],
    "flow/held-bytes": ["a short answer that is not read is counted until it is"],
  },
  "answers made at once": {
    "api/response-budget": [
      "answers are made some at a time; a tenant that has all its turns leaves one to others",
    ],
  },
  "heads of HTTP requests": {
    "flow/held-bytes": [
      "logins in chunks of one byte that do not end take a few kilobytes each",
      "bodies of a caller that do not end hold what is promised; the rest is 503, and other tenants get in",
    ],
    "api/http-connections": [
      "heads that never end are bounded by address, those of others are read",
      "long heads of one address, whose bodies do not end, leave others their part of the budget",
      "what unauthenticated clients leave unfinished, from however many addresses, takes nothing of the callers' part",
    ],
  },
  "bodies of devices' requests": {
    "flow/held-bytes": [
      "bodies in chunks of one byte take a few times their bytes, are kept, and hold up nobody",
    ],
    "ingest/transports/http/body": [
      "a device leaves some to its tenant, and a tenant to the others",
      "what is only declared holds nothing, and single messages do not wait for batches",
      "what is unpacked holds as much as it became, and its request what each does",
    ],
  },
  "ids of messages and batches": {
    "ingest/uplinks/repeats": ["no more is read for a device than 64 MiB, the newest first"],
  },
  "frames of plain WebSockets": {
    "flow/held-bytes": ["frames that wait for a limit are counted by their bytes: the client is not read"],
  },
  "polls of a device": {
    "ingest/transports/http/polls": [
      "with a ninth the oldest ends without a message, and a message goes to the oldest that waits",
    ],
  },
  "parsing of HTTP requests": {
    "api/http-connections": ["one write of requests is parsed in pieces, each in a turn of its own"],
    "api/request-scheduler": [
      "those that hold the loop begin in turns of their own, one client after the other",
    ],
  },
  "MQTT connections": {
    "ingest/access/connection-places": [
      "devices that have been let in stay, those behind one address too; a tenant leaves places to others",
    ],
  },
  "messages and bytes a second": {
    "ingest/access/limits": ["a burst passes, what follows keeps the rate to the millisecond"],
    "ingest/access/guessing": ["bytes too; two connections share one limit; others are not slowed"],
  },
  "TLS handshakes": {
    "ingest/transports/mqtt/listeners/tls": [
      "one address has seven eighths at most; another gets in at once",
    ],
  },
  "passwords being checked": {
    "api/passwords": [
      "unknown users cost what known ones do, each address in its own turns, a subscriber of IPv6 in one",
    ],
  },
  "guesses that are remembered": {
    "ingest/access/back-off": [
      "a flood of names takes nobody's wait away, and its own address pays when there is no place left",
    ],
  },
  "messages held for clients": {
    "ingest/sessions/bounds": [
      "one tenant's full queues cost another nothing, and leave room to newcomers",
      "so many messages wait; the next is not taken and counted, until there is room",
    ],
  },
  "reading of MQTT": {
    "ingest/transports/mqtt/connection/reading": [
      "is shared by tenants: hundreds of one hold up another no longer than one of theirs",
    ],
  },
  "matching of topics": { "ingest/transports/mqtt/bad-input": ["1,000 levels are matched in one walk"] },
  "points held for live feeds": {
    "ingest/live/feed": [
      "bytes are bounded by tenant and in all: one tenant's unread feeds leave the others their room",
      "an event is held and encoded once, however many listen, and never more than its device may hold",
    ],
  },
  "how many events an owner has": {
    "store/events/segment-counts": [
      "are kept of all index files together up to a bound, those that were asked for last",
    ],
  },
  "questions to the event indexes": {
    "store/events/segment-counts": [
      "questions that are asked at once, of one or of several, do not hold one turn of the loop",
    ],
  },
  "computing of formulas": {
    "query/instants": ["who has seen enough, or has computed for too long, ends it"],
  },
  "what one message may raise": {
    "ingest/alerts/evaluate": [
      "many causes that swing in one message are bounded together; each is left as its last point says",
    ],
  },
  "templates of notifications": {
    "ingest/sandbox/sandbox": [
      "what computes too long, holds too much or nests too deeply is ended; the next sandbox works",
    ],
  },
  mail: {
    "notifications/mail-quota": [
      "an hour has as many recipients as the limits say, whenever it begins, also after a restart",
      "have a bound within an hour, which a refusal names; they go out in the built-in texts",
    ],
  },
  "alert rules": {
    "api/alert-rules": [
      "a data point and a product have so many rules and no more; what is there can be edited",
    ],
  },
  "ended alerts, control logs": {
    "alerts/alert-retention": [
      "beyond its rows a tenant's oldest go, and no other's; current ones do not count",
    ],
  },
  "connections to InfluxDB": {
    "store/series/embedded/turns": [
      "of every kind of question a tenant has nearly all places, and another's is next",
    ],
  },
  "requests to a map's tile server": {
    "api/map-tiles": ["a server that hangs is not waited for without end, and takes no other's turn"],
  },
  "space on the disk": {
    "api/disk-space": [
      "a tenant alone gets nearly all and leaves room to others; what is removed is free again",
    ],
  },
  "the journal's disk": { "api/disk-space": ["what the journal needs is not spare"] },
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
    const shown = [...Object.values(promises), ...Object.values(bounds)].flatMap((one) =>
      Object.entries(one),
    );
    const absent = shown.flatMap(([file, names]) => {
      const path = join(repositoryRoot(), "test", file);
      const source = readFileSync(`${path}${existsSync(`${path}.test.ts`) ? "" : ".slow"}.test.ts`, "utf8");
      return names.filter((name) => !source.includes(`"${name}"`)).map((name) => `${file}: ${name}`);
    });
    assert.equal(absent, []);
  });
});

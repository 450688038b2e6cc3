/**
 * Every loop of the sources stands in a list here, with what bounds the turn of the loop of events that it takes: one
 * whose length comes from outside may hold everybody up. The compiled sources are read, so `for`, `while` and `do` are
 * found wherever they stand. Methods that take a callback (`forEach`, `map`, `filter`, `reduce` and the like), native
 * functions over long texts, and regular expressions (test/regular-expressions) are not looked for.
 *
 * What bounds them, by file; where a file has several loops, the weakest reason:
 *
 * - `yields`: those that may be long let others in between their steps by store/turns.ts; the file takes it from there.
 * - `awaits`: each step, over a page, a piece or a portion of bounded size, waits for a store, a thread, a disk or a peer.
 *   The embedded metadata answers within the turn: where many pages of it may follow one another, that is `yields`.
 * - `worker`: the file is a worker's or a child's alone; src/main does not come to it.
 * - `startup`: before anybody is served, when the service ends, or or in a tool of the operator.
 * - `constant`: a table of the code, a number of a few digits, a handful of attempts.
 * - `taken`: takes out or tells, once, what was put in one by one; whoever put it in has paid for that.
 * - `limit: NAME`: what it goes over has a bound of that name, a constant or a setting, and a step costs little.
 * - `long`: none of these. It may take longer than it should, for the reason that `longer` gives; to be mended.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Node, parse } from "acorn";
import { assert, suite } from "../suite.js";

const longer: Readonly<Record<string, string>> = {
  "ingest/credentials": "compares with each certificate that is bound to one device",
  "ingest/sessions/changes": "a save that failed puts all that it had taken back in one turn",
  "ingest/sessions/left-wills":
    "looks at all wills that are left, each second and behind each connection that ends",
  "ingest/sessions/saved-form":
    "what has changed is made into rows in one turn: it must be the state of one journal id",
  "ingest/watch/geofence": "compares each edge of a fence of up to 16 KiB with each other where they overlap",
};

/** By source file: how many loops it has, and what bounds them. */
// biome-ignore format: one line a file
const known: Readonly<Record<string, readonly [loops: number, bound: string]>> = {
  "ingest/admission": [3, "limit: connectionsMax"],
  "ingest/carried-devices": [1, "taken"],
  "ingest/consumers/alerts": [6, "yields"],
  "ingest/consumers/carriers": [1, "taken"],
  "ingest/consumers/envelopes": [7, "yields"],
  "ingest/consumers/lanes": [5, "awaits"],
  "ingest/consumers/offline": [1, "awaits"],
  "ingest/consumers/series": [9, "yields"],
  "ingest/consumers/states": [13, "yields"],
  "ingest/consumers/stopper": [2, "taken"],
  "ingest/credentials": [1, "long"],
  "ingest/decode/binary": [4, "limit: payloadBytesMax"],
  "ingest/decode/bits": [1, "constant"],
  "ingest/decode/cbor": [3, "limit: payloadBytesMax"],
  "ingest/decode/flat-json": [7, "limit: payloadBytesMax"],
  "ingest/decode/formats": [1, "constant"],
  "ingest/decode/json": [4, "limit: payloadBytesMax"],
  "ingest/decode/points": [4, "limit: payloadBytesMax"],
  "ingest/decode/senml": [3, "limit: payloadBytesMax"],
  "ingest/decode/whole": [9, "limit: payloadBytesMax"],
  "ingest/directory": [18, "yields"],
  "ingest/filter-trie": [8, "limit: levelsMax"],
  "ingest/forwarded": [1, "limit: headerBytesMax"],
  "ingest/guess-counts": [2, "constant"],
  "ingest/limits": [5, "constant"],
  "ingest/live": [11, "limit: listenersOfTenantMax"],
  "ingest/live-log": [3, "limit: deviceBytesMax"],
  "ingest/platform-subscriptions": [2, "limit: platformBytesMax"],
  "ingest/policies": [2, "limit: levelsMax"],
  "ingest/presence": [5, "awaits"],
  "ingest/proven": [1, "constant"],
  "ingest/proxies": [2, "limit: headerBytesMax"],
  "ingest/redecode": [7, "yields"],
  "ingest/redelivery": [1, "awaits"],
  "ingest/sessions/changes": [7, "long"],
  "ingest/sessions/delivery": [4, "limit: retainedMessagesMax"],
  "ingest/sessions/departed": [2, "startup"],
  "ingest/sessions/downlink-records": [3, "limit: recipientsMax"],
  "ingest/sessions/downlinks": [1, "limit: sessionsPerDeviceMax"],
  "ingest/sessions/held-bytes": [3, "startup"],
  "ingest/sessions/held-receipts": [5, "startup"],
  "ingest/sessions/holdings": [3, "limit: outgoingMessagesMax"],
  "ingest/sessions/left-wills": [3, "long"],
  "ingest/sessions/live": [6, "yields"],
  "ingest/sessions/open": [2, "startup"],
  "ingest/sessions/records": [7, "yields"],
  "ingest/sessions/remembered-topics": [1, "taken"],
  "ingest/sessions/replay": [1, "startup"],
  "ingest/sessions/saved-form": [11, "long"],
  "ingest/sessions/spaces": [11, "yields"],
  "ingest/sessions/subscriptions": [3, "limit: subscriptionsMax"],
  "ingest/sessions/weights": [2, "limit: propertiesBytesMax"],
  "ingest/sessions/wills": [2, "awaits"],
  "ingest/topics": [3, "limit: topicLengthMax"],
  "ingest/transports/broker/inbound": [3, "yields"],
  "ingest/transports/broker/outbound": [3, "limit: outgoingMessagesMax"],
  "ingest/transports/broker/packets": [1, "constant"],
  "ingest/transports/broker/redelivery": [2, "awaits"],
  "ingest/transports/mqtt/conversation": [4, "yields"],
  "ingest/transports/mqtt/decode": [2, "limit: filtersPerPacketMax"],
  "ingest/transports/mqtt/deliveries": [2, "yields"],
  "ingest/transports/mqtt/endpoint": [5, "limit: connectionsMax"],
  "ingest/transports/mqtt/framing": [1, "limit: packetBytesMax"],
  "ingest/transports/mqtt/inbound": [1, "taken"],
  "ingest/transports/mqtt/properties": [1, "limit: propertiesBytesMax"],
  "ingest/transports/mqtt/proxy-layer": [1, "limit: connectionsMax"],
  "ingest/transports/mqtt/publish-packet": [1, "constant"],
  "ingest/transports/mqtt/reader": [1, "constant"],
  "ingest/transports/mqtt/reading": [1, "yields"],
  "ingest/transports/mqtt/subscribing": [1, "limit: filtersPerPacketMax"],
  "ingest/transports/mqtt/tls": [1, "limit: connectionsMax"],
  "ingest/transports/mqtt/turnstile": [3, "limit: connectionsMax"],
  "ingest/transports/mqtt/websocket": [1, "limit: connectionsMax"],
  "ingest/watch/evaluate": [14, "yields"],
  "ingest/watch/geofence": [5, "long"],
  "ingest/watch/plan": [3, "yields"],
  "ingest/watch/state": [1, "limit: alertRulesMax"],
  "ingest/work-budget": [3, "yields"],
  "query/downsample": [5, "limit: pointsExactMax"],
  "query/fill": [2, "limit: windowsMax"],
  "query/formula": [1, "constant"],
  "query/formula-arithmetic": [1, "limit: formulaCharactersMax"],
  "query/formula-code": [1, "constant"],
  "query/formula-parse": [2, "limit: formulaCharactersMax"],
  "query/formula-series": [4, "yields"],
  "query/formula-signs": [4, "limit: formulaCharactersMax"],
  "query/metrics": [1, "awaits"],
  "query/newest": [3, "limit: textsAtOnce"],
  "query/original": [2, "limit: answerValuesMax"],
  "query/points": [4, "awaits"],
  "query/track": [3, "awaits"],
  "query/windows": [4, "limit: windowsMax"],
  "query/zone": [4, "limit: blocksMax"],
  "src/alert-retention": [3, "yields"],
  "src/brokers/mosquitto": [7, "awaits"],
  "src/config": [4, "startup"],
  "src/control/commands": [2, "awaits"],
  "src/control/cron": [4, "limit: cronLengthMax"],
  "src/control/group-publish": [3, "yields"],
  "src/control/issued": [4, "yields"],
  "src/control/receipts": [3, "awaits"],
  "src/control/scheduler": [5, "yields"],
  "src/control/unconfirmed": [1, "limit: waitingBytesMax"],
  "src/history/csv-rows": [4, "limit: rowBytesMax"],
  "src/history/csv-taker": [4, "limit: batchPointsMax"],
  "src/history/export-stream": [2, "awaits"],
  "src/history/export.worker": [4, "worker"],
  "src/history/import.worker": [1, "worker"],
  "src/history/ndjson-taker": [4, "limit: batchPointsMax"],
  "src/history/read-history": [2, "awaits"],
  "src/history/redecode": [1, "awaits"],
  "src/history/row-writers": [2, "worker"],
  "src/history/series-batch": [1, "limit: batchPointsMax"],
  "src/history/target-cache": [4, "limit: batchPointsMax"],
  "src/history/targets": [4, "awaits"],
  "src/history/times": [1, "limit: batchPointsMax"],
  "src/history/tools": [1, "startup"],
  "src/history/transport": [1, "awaits"],
  "src/history/values": [1, "limit: batchPointsMax"],
  "src/history/write-rows": [8, "worker"],
  "src/http/answer-room": [1, "limit: pageBytesMax"],
  "src/http/auth": [3, "taken"],
  "src/http/body": [1, "awaits"],
  "src/http/chunks": [2, "limit: chunkBytesMax"],
  "src/http/fields": [4, "limit: jsonBytesMax"],
  "src/http/json-stream": [6, "yields"],
  "src/http/known-answer": [2, "yields"],
  "src/http/paging": [6, "yields"],
  "src/http/parallel": [1, "awaits"],
  "src/http/route": [2, "startup"],
  "src/http/text-search": [4, "limit: patternCharactersMax"],
  "src/http/upload": [2, "constant"],
  "src/lock": [4, "startup"],
  "src/main": [1, "startup"],
  "src/maintenance": [4, "yields"],
  "src/mqtt-listeners": [5, "startup"],
  "src/reference/closing": [7, "startup"],
  "src/reference/document": [5, "startup"],
  "src/reference/examples": [3, "startup"],
  "src/reference/headers": [4, "startup"],
  "src/reference/operation-ids": [1, "startup"],
  "src/reference/parameters": [2, "startup"],
  "src/removals": [5, "yields"],
  "src/routes/alert-rules": [1, "constant"],
  "src/routes/api-keys": [1, "limit: idsMax"],
  "src/routes/broker-access": [1, "limit: pageLimitMax"],
  "src/routes/data": [3, "awaits"],
  "src/routes/data-export": [1, "limit: streamsMax"],
  "src/routes/data-query": [1, "limit: devicesMax"],
  "src/routes/device-draft": [3, "constant"],
  "src/routes/device-live": [3, "yields"],
  "src/routes/device-rules": [2, "limit: jsonBytesMax"],
  "src/routes/gateway-data": [1, "limit: pageLimitMax"],
  "src/routes/ingest-status": [2, "limit: devicesMax"],
  "src/routes/live-replay": [6, "awaits"],
  "src/routes/metrics": [1, "constant"],
  "src/routes/product-parts": [1, "limit: idsMax"],
  "src/routes/shown-devices": [2, "awaits"],
  "src/routes/users": [1, "limit: idsMax"],
  "src/service/aside": [3, "constant"],
  "src/service/base": [1, "constant"],
  "src/service/http": [3, "limit: connectionsMax"],
  "src/service/http-wire": [1, "yields"],
  "src/service/kept": [2, "awaits"],
  "src/service/refill": [2, "awaits"],
  "src/service/session-context": [2, "awaits"],
  "src/service/trial.worker": [1, "worker"],
  "src/service/request-turns": [1, "constant"],
  "src/stop-signals": [1, "startup"],
  "src/tasks/runner": [3, "awaits"],
  "src/tasks/until-served": [1, "awaits"],
  "src/tools": [1, "startup"],
  "src/transfer/check-file": [1, "awaits"],
  "src/transfer/csv-file": [3, "awaits"],
  "src/transfer/device-columns": [1, "limit: cellCharactersMax"],
  "src/transfer/export-devices": [2, "awaits"],
  "src/transfer/import-devices": [7, "awaits"],
  "src/transfer/import-rows": [3, "limit: cellCharactersMax"],
  "src/transfer/row-errors": [1, "limit: errorsListedMax"],
  "src/transfer/xlsx-cells": [1, "limit: cellCharactersMax"],
  "src/transfer/xlsx-file": [2, "awaits"],
  "src/transfer/xlsx-package": [1, "awaits"],
  "src/transfer/xlsx-writer": [3, "awaits"],
  "src/transfer/xml-events": [2, "awaits"],
  "store/aggregation": [7, "limit: windowsMax"],
  "store/alerts": [2, "yields"],
  "store/app-templates": [1, "limit: defaultValuesMax"],
  "store/arithmetic": [12, "limit: answerValuesMax"],
  "store/bounded-list": [7, "yields"],
  "store/broker-devices": [2, "yields"],
  "store/change-retention": [6, "yields"],
  "store/changes": [2, "yields"],
  "store/containing": [3, "limit: patternCharactersMax"],
  "store/control-log-bytes": [1, "limit: rowsOfTenantMax"],
  "store/control-logs": [1, "limit: changesPerWrite"],
  "store/crc32": [2, "limit: CHUNK_TEXT_BYTES_MAX"],
  "store/crc32c": [5, "limit: recordBytesLimit"],
  "store/database-check.child": [2, "worker"],
  "store/database-file": [2, "startup"],
  "store/device-access": [1, "limit: bindingsShownMax"],
  "store/device-columns": [1, "constant"],
  "store/device-import": [3, "awaits"],
  "store/device-names": [3, "awaits"],
  "store/embedded/batch": [2, "limit: batchPointsMax"],
  "store/embedded/calls": [1, "taken"],
  "store/embedded/catalog": [3, "worker"],
  "store/embedded/catalog-file": [3, "worker"],
  "store/embedded/catalog-rebuild": [6, "worker"],
  "store/embedded/catalog-schema": [1, "constant"],
  "store/embedded/checksums": [1, "limit: CHUNK_POINTS_MAX"],
  "store/embedded/chunks": [6, "limit: CHUNK_POINTS_MAX"],
  "store/embedded/columns": [6, "limit: readPointsMax"],
  "store/embedded/fetch": [6, "awaits"],
  "store/embedded/files": [2, "limit: readPointsMax"],
  "store/embedded/flush": [10, "worker"],
  "store/embedded/held": [2, "worker"],
  "store/embedded/intake": [3, "worker"],
  "store/embedded/memtable": [4, "worker"],
  "store/embedded/mender": [2, "worker"],
  "store/embedded/names": [1, "constant"],
  "store/embedded/names-log": [2, "worker"],
  "store/embedded/open-files": [2, "yields"],
  "store/embedded/parts": [7, "worker"],
  "store/embedded/questions": [2, "awaits"],
  "store/embedded/reader": [6, "awaits"],
  "store/embedded/readers": [2, "constant"],
  "store/embedded/registry": [1, "worker"],
  "store/embedded/removal": [2, "worker"],
  "store/embedded/salvage": [4, "worker"],
  "store/embedded/spans": [1, "worker"],
  "store/embedded/sqlite": [2, "constant"],
  "store/embedded/text-runs": [2, "worker"],
  "store/embedded/writer": [9, "worker"],
  "store/event-index": [3, "awaits"],
  "store/event-postings": [1, "limit: segmentBytesMax"],
  "store/event-reading": [4, "awaits"],
  "store/events": [20, "yields"],
  "store/extremes": [1, "limit: answerValuesMax"],
  "store/fair-queue": [4, "awaits"],
  "store/groups": [1, "limit: pageLimitMax"],
  "store/history-devices": [2, "awaits"],
  "store/ids": [1, "constant"],
  "store/influx/batch": [2, "limit: batchPointsMax"],
  "store/influx/checkpoint": [2, "taken"],
  "store/influx/client": [4, "awaits"],
  "store/influx/conflicts": [10, "limit: batchPointsMax"],
  "store/influx/csv": [8, "yields"],
  "store/influx/flux": [1, "limit: questionsAtOnce"],
  "store/influx/lines": [2, "limit: batchPointsMax"],
  "store/influx/newest": [7, "awaits"],
  "store/influx/questions": [6, "awaits"],
  "store/influx/reading": [6, "awaits"],
  "store/influx/removal": [5, "awaits"],
  "store/influx/retention": [1, "awaits"],
  "store/influx/scan": [2, "awaits"],
  "store/influx/settle": [1, "limit: batchPointsMax"],
  "store/influx/text-columns": [1, "taken"],
  "store/influx/texts": [3, "awaits"],
  "store/influx/windows": [3, "limit: windowsMax"],
  "store/journal": [6, "yields"],
  "store/journal-batch": [7, "yields"],
  "store/journal-reader": [3, "awaits"],
  "store/journal-record": [2, "limit: recordBytesLimit"],
  "store/journal-recover": [2, "startup"],
  "store/journal-scan": [2, "limit: headsPerCall"],
  "store/journal-segment": [5, "startup"],
  "store/journal-shared-topics": [1, "limit: envelopesMax"],
  "store/journal-stamps": [3, "limit: runsMax"],
  "store/journal-topics": [1, "awaits"],
  "store/journal-walk": [3, "awaits"],
  "store/journal-writer": [3, "awaits"],
  "store/migrations": [1, "startup"],
  "store/places": [2, "taken"],
  "store/policies": [1, "limit: pageLimitMax"],
  "store/products": [1, "limit: pageLimitMax"],
  "store/quarantine": [1, "awaits"],
  "store/referrers": [8, "yields"],
  "store/remembered": [4, "taken"],
  "store/removals": [1, "yields"],
  "store/set-aside": [1, "startup"],
  "store/steps": [1, "yields"],
  "store/table": [6, "awaits"],
  "store/text-bytes": [1, "limit: answerValuesMax"],
  "store/turns": [1, "yields"],
  "store/versions": [2, "taken"],
  "store/write-queue": [5, "yields"],
};

const root = join(import.meta.dirname, "..", "..");
const files = ["src", "ingest", "query", "store"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(folder, name)),
);
const nameOf = (file: string): string => file.slice(0, -".js".length);
const loopTypes: ReadonlySet<string> = new Set([
  ...["ForStatement", "ForOfStatement", "ForInStatement", "WhileStatement", "DoWhileStatement"],
]);
const importTypes: ReadonlySet<string> = new Set([
  ...["ImportDeclaration", "ExportNamedDeclaration", "ExportAllDeclaration", "ImportExpression"],
]);

interface Read {
  readonly text: string;
  loops: number;
  awaits: boolean;
  /** Files that it imports, also later. */
  readonly imports: string[];
  /** What it takes from store/turns. */
  readonly turns: string[];
}

/** Every node of a syntax tree, with its fields. */
function* nodesOf(value: unknown): Generator<Node & Readonly<Record<string, unknown>>> {
  if (Array.isArray(value)) for (const one of value) yield* nodesOf(one);
  else if (typeof value === "object" && value !== null && "type" in value) {
    yield value as Node & Readonly<Record<string, unknown>>;
    for (const field of Object.values(value)) if (typeof field === "object") yield* nodesOf(field);
  }
}

function read(file: string, text: string): Read {
  const found: Read = { text, loops: 0, awaits: false, imports: [], turns: [] };
  for (const node of nodesOf(parse(text, { ecmaVersion: "latest", sourceType: "module" }))) {
    if (loopTypes.has(node.type)) found.loops++;
    if (node.type === "AwaitExpression" || node.await === true) found.awaits = true;
    const source = (node.source as { value?: unknown } | null | undefined)?.value;
    if (!importTypes.has(node.type) || typeof source !== "string" || !source.startsWith(".")) continue;
    const target = join(dirname(file), source);
    found.imports.push(target);
    const names = (node.specifiers ?? []) as { imported?: { name?: string } }[];
    if (target === join("store", "turns.js"))
      found.turns.push(...names.map((one) => one.imported?.name ?? ""));
  }
  return found;
}

const sources = new Map(files.map((file) => [file, read(file, readFileSync(join(root, file), "utf8"))]));

function reachedFrom(start: string): Set<string> {
  const reached = new Set([start]);
  for (const file of reached) for (const next of sources.get(file)?.imports ?? []) reached.add(next);
  return reached;
}

const ofMain = reachedFrom(join("src", "main.js"));
const yielding: ReadonlySet<string> = new Set([
  ...["createSlice", "createBreather", "createPacer", "mapInSlices", "nextTurn"],
]);
const names = new Set([...sources.values()].flatMap(({ text }) => text.match(/[A-Za-z_]\w*/g) ?? []));

/** Why the reason does not hold for the file; null: it does. */
function faultOf(file: string, bound: string): string | null {
  const name = nameOf(file);
  const { awaits = false, turns = [] } = sources.get(file) ?? {};
  if (bound.startsWith("limit: ")) {
    const limit = bound.slice("limit: ".length);
    return names.has(limit) ? null : `nothing is called ${limit}`;
  }
  switch (bound) {
    case "yields":
      return name === "store/turns" || turns.some((one) => yielding.has(one))
        ? null
        : "it takes nothing from store/turns that lets others in";
    case "awaits":
      return awaits ? null : "it waits for nothing";
    case "worker":
      return ofMain.has(file) ? "src/main comes to it" : null;
    case "long":
      return name in longer ? null : "`longer` does not say why";
    case "startup":
    case "constant":
    case "taken":
      return null;
    default:
      return `there is no reason called ${bound}`;
  }
}

const advice =
  "Look at the loops of the file. One over what comes from outside needs a bound, or lets others in by store/turns.ts; then say in test/security/loops.test.ts how many there are and what bounds them.";

suite("every loop", (test) => {
  test("the looking finds loops of each kind, wherever they stand", () => {
    const text = `import { nextTurn } from "../../store/turns.js";
      export class A { #b = () => { for (;;) break; }; static { while (x) y(); } }
      const f = async () => { for await (const a of b) { do { } while (a); } for (const k in o) for (const v of o); };
      const text = "for (;;) while"; // for (;;)
      all.forEach((one) => one);`;
    const found = read("ingest/sessions/any.js", text);
    assert.equal([found.loops, found.awaits, found.turns], [6, true, ["nextTurn"]]);
    assert.equal(found.imports, [join("store", "turns.js")]);
  });

  test("stands in the list, with what bounds it", () => {
    const faults: string[] = [];
    for (const [file, { loops }] of sources) {
      const [listed = 0, bound = ""] = known[nameOf(file)] ?? [];
      if (loops !== listed)
        faults.push(`${nameOf(file)} has ${loops} loops, and ${listed} are listed. ${advice}`);
      const fault = loops > 0 && listed > 0 ? faultOf(file, bound) : null;
      if (fault !== null) faults.push(`${nameOf(file)}: "${bound}", but ${fault}. ${advice}`);
    }
    for (const name of Object.keys(known)) {
      if (!sources.has(`${name}.js`)) faults.push(`${name} is listed and is no file any more`);
    }
    for (const name of Object.keys(longer)) {
      if (known[name]?.[1] !== "long")
        faults.push(`${name} is not listed as long any more: take its reason away`);
    }
    assert.equal(faults, []);
  });

  test("a reason that does not hold is found", () => {
    const wrong = [
      ["ingest/topics.js", "yields"],
      ["ingest/topics.js", "awaits"],
      ["ingest/topics.js", "worker"],
      ["ingest/topics.js", "long"],
      ["ingest/topics.js", "limit: nobodyHasCalledItSo"],
      ["ingest/topics.js", "short"],
    ] as const;
    for (const [file, bound] of wrong) assert.ok(faultOf(file, bound), bound);
    assert.is(faultOf("ingest/consumers/states.js", "yields"), null);
    assert.is(faultOf("store/embedded/writer.js", "worker"), null);
  });
});

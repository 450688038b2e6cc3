/** The directions and borders of docs/architecture: read off the sources' import lines. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { repositoryRoot } from "./repository.js";
import { assert, suite } from "./suite.js";

/** How bytes of a stream or of a Web body are read. */
const bytesRead =
  /\.(arrayBuffer|blob|formData|json)\(\)|await \w+\.text\(\)|\.on\("data"|fromWeb\(|stream\/consumers|(request|req|incoming)\.pipe\(|AsyncIterable<(Buffer|Uint8Array)>/;

/** The reader of requests' bodies, and what else reads bytes, by file: whose they are. */
const bytesReaders: Readonly<Record<string, string>> = {
  "ingest/transports/broker/link.ts": "the external broker's, as packets",
  "ingest/transports/http/requests/body-reader.ts": "the reader",
  "ingest/transports/mqtt/connection/connack.ts": "a node's, as many as a CONNACK has",
  "ingest/transports/mqtt/connection/connection.ts": "a client's, as packets, which grow with what has come",
  "ingest/transports/sockets/relay.ts": "passed on at the pace of the other side",
  "ingest/transports/sockets/whole-frames.ts": "a client's, as frames, which grow with what has come",
  "ingest/transports/websocket/keeper-socket.ts": "a node's refusal",
  "src/api/app.ts": "a request's that is made within the process, for the reader",
  "src/backup/backup-process.ts": "a child's",
  "src/cli/points-tools.ts": "an answer to a tool",
  "src/cli/tools.ts": "an answer to a tool",
  "src/cluster/call-node.ts": "a node's answer",
  "src/cluster/link-watch.ts": "a node's echo",
  "src/cluster/listener.ts": "this node's own name",
  "src/contact-points/mqtt.ts": "a broker's, counted",
  "src/contact-points/webhook.ts": "a receiver's answer, of which 4 KiB are read",
  "src/demo/client.ts": "an answer to the demo",
  "src/demo/simulator.ts": "an answer to the demo",
  "src/http/conditional-response.ts": "an answer of ours, packed",
  "src/live-nodes/lines.ts": "a node's lines, of a bounded length",
  "src/server/http-connection.ts": "the socket of every request",
  "store/journal/kafka/broker-link.ts": "a broker's",
  "store/series/influx/client.ts": "InfluxDB's answers",
  "store/series/influx/csv.ts": "InfluxDB's answers",
  "store/series/influx/reading.ts": "InfluxDB's answers",
};

interface Source {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Paths of our own files, names of packages. */
  readonly imports: readonly string[];
}

const root = repositoryRoot();
const folders = ["src", "ingest", "query", "store", "bench", "test"] as const;
/** The console's application is a program of its own, for browsers. */
const ofBrowsers = "src/console/app/";
const all = folders.flatMap(readFolder);
const sources = all.filter(({ path }) => !path.startsWith(ofBrowsers));
const inFolder = (folder: string) => sources.filter((source) => source.path.startsWith(`${folder}/`));

/** Folder → the folders of ours that it may import from. */
const directions: Readonly<Record<string, readonly string[]>> = {
  src: ["src", "ingest", "query", "store"],
  ingest: ["ingest", "store"],
  query: ["query", "store"],
  store: ["store"],
};

/** Library that touches the world → where it may be imported. */
const borders: Readonly<Record<string, readonly RegExp[]>> = {
  "@libsql/client": [/^store\//, /^src\/host\/lock\.ts$/],
  libsql: [/^store\/metadata\/db\/connection\/local-file\.ts$/],
  "@influxdata/influxdb-client": [/^store\/series\/influx\//],
  "@platformatic/kafka": [/^store\/journal\/kafka\/(protocol|broker-link)\.ts$/],
  "@peculiar/x509": [/^src\/certificates\/x509\.ts$/],
  "mqtt-packet": [/^ingest\/transports\/(mqtt|broker)\//],
  ws: [/^ingest\/transports\/mqtt\/listeners\/websocket\.ts$/, /^ingest\/transports\/websocket\//],
  cborg: [/^ingest\/transports\/websocket\//],
  mathjs: [/^query\/formula\//],
  "@hono/node-server": [/^src\/server\/request-handling\.ts$/, /^src\/api\/app\.ts$/],
  mqtt: [/^src\/demo\//, /^src\/contact-points\/mqtt\.ts$/],
  tar: [/^src\/backup\/archive\.ts$/],
  nodemailer: [/^src\/contact-points\/email\.ts$/],
  "ipaddr.js": [/^src\/contact-points\/addresses\.ts$/],
  // A text that runs in the sandbox.
  liquidjs: [],
  "quickjs-emscripten-core": [/^ingest\/sandbox\/sandbox\.ts$/],
  "@jitl/quickjs-singlefile-mjs-release-sync": [/^ingest\/sandbox\/sandbox\.ts$/],
  aedes: [],
  uvu: [],
};

/** Where the wall clock is asked, and what for. A duration that ends with the run takes Clock.monotonic. */
const wallTime: readonly (readonly [place: string, what: string])[] = [
  ["ingest/transports/broker/broker-access.ts", "certificates: valid today"],
  ["ingest/clients/", "records: connectedAt; expiry of messages; certificates: valid still"],
  ["ingest/consumers/point-writer.ts", "records: quarantine"],
  ["ingest/directory/presence.ts", "records: lastSeen"],
  ["ingest/alerts/state-", "records: alerts"],
  ["ingest/uplinks/repeats.ts", "times of receipt, which are searched"],
  ["ingest/sessions/", "expiry of sessions, messages and wills, which are saved with them"],
  ["ingest/transports/broker/outbound.ts", "ttl of commands, as their logs expire"],
  ["ingest/transports/mqtt/connection/mqtt-client.ts", "shown: topic $time"],
  ["ingest/transports/mqtt/connection/deliveries.ts", "expiry of messages"],
  ["ingest/transports/mqtt/listeners/endpoint.ts", "certificates: valid still"],
  ["src/cluster/shard-steps.ts", "records: when a shard changed hands"],
  ["src/dashboards/shared-page.ts", "expiry of shares"],
  ["src/alerts/alert-retention.ts", "retention"],
  ["src/background/retention-clock.ts", "retention, held against the monotonic clock"],
  ["src/backup/", "shown, in the names of backups, and schedules"],
  ["src/bulk/", "records, ttl of commands"],
  ["src/cli/backup-tools.ts", "shown, and in the names of backups"],
  ["src/contact-points/webhook.ts", "records: the time that a signature is of"],
  ["src/notifications/", "when messages are due and given up, which is stored; mute windows; retention"],
  ["src/observability/clock-watch.ts", "to be held against the monotonic clock"],
  ["src/cli/points-tools.ts", "records"],
  ["src/commands/", "records, ttl of commands, schedules"],
  ["src/serve.ts", "the age of the time zone rules"],
  ["src/live/stream.ts", "shown: the time of hello and gap"],
  ["src/live/figures.ts", "shown: the time of rates"],
  ["src/live-nodes/cluster-feed.ts", "shown: the time of gap"],
  ["src/import-export/points/", "records, and bounds of the times of points"],
  ["src/http/auth.ts", "expiry of API keys and sessions"],
  ["src/http/credential-cache.ts", "expiry of API keys and sessions"],
  ["src/http/share-access.ts", "expiry of shares, and when they were used, which is stored"],
  ["src/observability/log.ts", "shown"],
  ["src/observability/log-output.ts", "shown"],
  ["src/service/event-retention.ts", "retention"],
  ["src/service/maintenance.ts", "retention"],
  ["src/service/server-identity.ts", "certificates: their end"],
  ["src/devices/", "records"],
  ["src/server/request-scheduler.ts", "its clock is monotonic, and given"],
  ["store/metadata/db/connection/short-reads.ts", "its clock is monotonic, and given"],
  ["src/routes/", "records, expiry, and ranges of time"],
  ["src/service/", "records, certificates, expiry of sessions"],
  ["src/tasks/", "records and download links"],
  ["src/cli/tools.ts", "records and certificates"],
  ["src/import-export/devices/import-devices.ts", "records"],
  ["store/files/database-file.ts", "shown: when a file was put aside"],
  ["store/series/embedded/compact.ts", "whether a month has ended"],
  ["store/journal/", "receipt of records, and the age of segments"],
];

/** Whatever comes back to itself, by what each uses. */
function inCircles(uses: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of uses.get(from) ?? []) if (!seen.has(next)) reached(next, seen.add(next));
    return seen;
  };
  return [...uses.keys()].filter((one) => reached(one).has(one));
}

suite("structure", (test) => {
  test("the sources are found", () => {
    for (const folder of folders) assert.ok(inFolder(folder).length > 3, folder);
    assert.ok(sources.flatMap((source) => source.imports).length > 300);
  });

  test("work yields by one primitive, store/lib/scheduling.ts", () => {
    const others = ["src", "ingest", "query", "store"]
      .flatMap(inFolder)
      .filter(({ path, text }) => path !== "store/lib/scheduling.ts" && /setImmediate\(resolve\)/.test(text));
    assert.equal(
      others.map(({ path }) => path),
      [],
    );
  });

  test("imports go src → ingest → store and src → query → store, never back or across", () => {
    const wrong = Object.entries(directions).flatMap(([folder, allowed]) =>
      inFolder(folder).flatMap(({ path, imports }) =>
        imports
          .filter((one) => folders.some((ours) => one.startsWith(`${ours}/`)))
          .filter((one) => !allowed.some((ours) => one.startsWith(`${ours}/`)))
          .map((one) => `${path} → ${one}`),
      ),
    );
    assert.equal(wrong, []);
  });

  test("the console's application imports nothing of the service, and the service nothing of it", () => {
    const app = all.filter(({ path }) => path.startsWith(ofBrowsers));
    assert.ok(app.length > 20, `${app.length}`);
    const ours = (one: string) => folders.some((folder) => one.startsWith(`${folder}/`));
    const across = (from: readonly Source[], isWrong: (one: string) => boolean) =>
      from.flatMap(({ path, imports }) => imports.filter(isWrong).map((one) => `${path} → ${one}`));
    assert.equal(
      across(app, (one) => ours(one) && !one.startsWith(ofBrowsers)),
      [],
    );
    assert.equal(
      across(Object.keys(directions).flatMap(inFolder), (one) => one.startsWith(ofBrowsers)),
      [],
    );
    const libraries = new Set(
      app.flatMap(({ imports }) => imports.filter((one) => !ours(one)).map((one) => one.split("/")[0])),
    );
    assert.equal([...libraries].sort(), [
      ...["@preact", "leaflet", "marked", "preact", "tidemark:forms"],
      ...["tidemark:land-coarse", "tidemark:land-fine", "tidemark:live-worker", "uplot"],
    ]);
    const markup = app.filter(({ text }) =>
      /innerHTML|insertAdjacentHTML|document\.write|\beval\(/i.test(text),
    );
    assert.equal(
      markup.map(({ path }) => path),
      [],
      "texts are hostile: they become text nodes alone",
    );
  });

  test("the bundle has what its modules find by their own address", () => {
    const own = /new URL\("(\.[^"]+)", import\.meta\.url\)/g;
    const found = Object.keys(directions)
      .flatMap(inFolder)
      .filter(({ path }) => !path.startsWith("src/demo/"))
      .flatMap(({ path, text }) => [...text.matchAll(own)].map(([, to = ""]) => join(dirname(path), to)));
    assert.ok(found.length > 8, `${found.length}`);
    const isThere = (path: string) => existsSync(join(root, "dist/service", path));
    assert.equal(
      found.filter((path) => !isThere(path)),
      [],
    );
  });

  test("time zones are those of store/time-zones: those of Node.js and of browsers are as old as these are", () => {
    const zoned = [
      /timeZone: (?!Zone)/,
      /supportedValuesOf|resolvedOptions|toLocale(Date|Time)String/,
      /\b(get|set)(Hours|Minutes|Day|Date|Month|FullYear|TimezoneOffset)\(/,
    ];
    const allowed: Readonly<Record<string, RegExp>> = {
      // Names of months, of times that are given as if they were UTC.
      "src/console/app/charts/ticks.ts": /timeZone: "UTC"/,
      // What the browser's own zone is called.
      "src/console/app/dashboards/BoardView.tsx": /resolvedOptions\(\)\.timeZone/,
      // The sandbox is always in UTC, and asks for the clock of another zone here.
      "src/notifications/template-program.ts": /./,
    };
    const app = all.filter(({ path }) => path.startsWith(ofBrowsers));
    const lines = [...Object.keys(directions).flatMap(inFolder), ...app].flatMap(({ path, text }) =>
      text.split("\n").map((line) => ({ path, line: line.trim() })),
    );
    const found = lines.filter(({ line }) => zoned.some((one) => one.test(line)));
    assert.ok(found.length > 3);
    const wrong = found.filter(({ path, line }) => allowed[path]?.test(line) !== true);
    assert.equal(wrong, []);
  });

  test("no two folders import each other", () => {
    const roomOf = (path: string) => path.slice(0, path.lastIndexOf("/"));
    const arrows = new Set(
      Object.keys(directions)
        .flatMap(inFolder)
        .flatMap(({ path, imports }) => imports.map((one) => `${roomOf(path)} → ${roomOf(one)}`)),
    );
    const both = [...arrows].filter((arrow) => {
      const [from = "", to = ""] = arrow.split(" → ");
      return from < to && to.includes("/") && arrows.has(`${to} → ${from}`);
    });
    assert.equal(both, []);
  });

  test("the folders of src form layers, without a cycle", () => {
    const roomOf = (path: string) => path.slice(0, path.lastIndexOf("/"));
    const below = new Map<string, Set<string>>();
    for (const { path, imports } of inFolder("src")) {
      const room = roomOf(path);
      const others = imports.filter((one) => one.startsWith("src/") && roomOf(one) !== room).map(roomOf);
      below.set(room, new Set([...(below.get(room) ?? []), ...others]));
    }
    assert.equal(inCircles(below), []);
  });

  test("no file comes back to itself by its imports, of types either", () => {
    const production = all.filter(({ path }) => Object.keys(directions).includes(path.split("/")[0] ?? ""));
    const nameOf = (path: string) => path.replace(/\.(js|tsx?)$/, "");
    const below = new Map(
      production.map(({ path, imports }) => [nameOf(path), new Set(imports.map(nameOf))] as const),
    );
    assert.ok(below.size > 600);
    assert.equal(inCircles(below), []);
  });

  test("each library that touches the world has its place", () => {
    const production = Object.keys(directions).flatMap(inFolder);
    const wrong = production.flatMap(({ path, imports }) =>
      imports
        .filter((one) => {
          const library = Object.keys(borders).find((name) => one === name || one.startsWith(`${name}/`));
          return library !== undefined && !borders[library]?.some((place) => place.test(path));
        })
        .map((one) => `${path} → ${one}`),
    );
    assert.equal(wrong, []);
    const runners = sources.filter(({ imports }) => imports.some((one) => /^uvu(\/|$)/.test(one)));
    assert.equal(
      runners.map((source) => source.path),
      ["test/suite.ts"],
    );
  });

  test("SQL is in store alone", () => {
    // The lock of the data folder is a lock of SQLite.
    const sql =
      /["`]\s*(select\s+[\w(*]|insert (or \w+ )?into |update \w+ set |delete from |create (table|index) )/;
    const wrong = ["src", "ingest", "query"]
      .flatMap(inFolder)
      .filter(({ path, text }) => path !== "src/host/lock.ts" && sql.test(text));
    assert.equal(
      wrong.map(({ path }) => path),
      [],
    );
  });

  test("the environment is read by the configuration alone", () => {
    const readers = Object.keys(directions)
      .flatMap(inFolder)
      .filter(({ text }) => /\bprocess\s*(\.|\?\.|\[\s*["'])env\b/.test(text))
      .map((source) => source.path);
    // main hands the environment over; config.ts is what makes sense of it. The demo is a program of its own.
    assert.equal(readers.sort(), ["src/demo/demo.ts", "src/program.ts"]);
    const callers = inFolder("src").filter(({ text }) => /readConfig\(/.test(text));
    assert.equal(callers.map((source) => source.path).sort(), ["src/config/config.ts", "src/program.ts"]);
  });

  test("the wall clock of the machine is read in one place", () => {
    const readers = Object.keys(directions)
      .flatMap(inFolder)
      .filter(({ text }) => /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)/.test(text))
      .map((source) => source.path);
    assert.equal(readers, ["store/lib/clock.ts"]);
  });

  test("wall time is for what is shown or outlives the run; every other duration is monotonic", () => {
    const readers = Object.keys(directions)
      .flatMap(inFolder)
      .filter(({ text }) => /\bnow\(\)/.test(text.replaceAll("performance.now()", "")))
      .map((source) => source.path);
    const unlisted = readers.filter((path) => !wallTime.some(([place]) => path.startsWith(place)));
    assert.equal(unlisted, [], "take Clock.monotonic, or say in this file why not");
    const unused = wallTime.filter(([place]) => !readers.some((path) => path.startsWith(place)));
    assert.equal(unused, []);
  });

  test("no body of a request is read but by the one reader, which counts what it holds", () => {
    const files = ["ingest", "query", "src", "store"]
      .flatMap(inFolder)
      .filter(({ text }) => bytesRead.test(text));
    const paths = files.map((source) => source.path);
    const unlisted = paths.filter((path) => !Object.hasOwn(bytesReaders, path));
    assert.equal(
      unlisted,
      [],
      "take readWhole or createPieceStream, or say in this file whose bytes these are",
    );
    assert.equal(
      Object.keys(bytesReaders).filter((path) => !paths.includes(path)),
      [],
      "these read none any more",
    );
  });

  test("no default exports, no barrels, no utils, no import without its extension", () => {
    const wrong = sources.filter(({ path, text }) => {
      const named = path.split("/").at(-1) ?? "";
      return (
        /^export (default\b|\{[^}]*\bas default\b|\*)/m.test(strip(path, text)) ||
        /^(index|utils?|helpers?)\.tsx?$/.test(named)
      );
    });
    assert.equal(
      wrong.map((source) => source.path),
      [],
    );
    const missing = sources.flatMap(({ path, imports }) =>
      imports
        .filter(
          (one) =>
            one.includes("/") && folders.some((ours) => one.startsWith(`${ours}/`)) && !one.endsWith(".js"),
        )
        .map((one) => `${path} → ${one}`),
    );
    assert.equal(missing, []);
  });
});

/** test/suite.ts passes uvu's assertions on, which is all that it may. */
function strip(path: string, text: string): string {
  return path === "test/suite.ts" ? text.replace('export * as assert from "uvu/assert";', "") : text;
}

function readFolder(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !path.split(sep).includes("node_modules"))
    .map((path) => {
      const own = [folder, ...path.split(sep)].join("/");
      const text = readFileSync(join(root, folder, path), "utf8");
      return { path: own, text, imports: importsOf(own, text) };
    });
}

function importsOf(path: string, text: string): string[] {
  const forms =
    /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|(?:^|\n)import\s+"([^"]+)"/g;
  return [...text.matchAll(forms)]
    .map((match) => match[1] ?? match[2] ?? match[3] ?? "")
    .map((one) =>
      one.startsWith(".")
        ? normalize(join(dirname(path), one))
            .split(sep)
            .join("/")
        : one,
    );
}

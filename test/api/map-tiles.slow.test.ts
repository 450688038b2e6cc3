/** Tiles of maps, from a tile server that is right, slow, wrong, too large, elsewhere or gone. */
import { type ConfigError, readConfig } from "../../src/config/config.js";
import { TileFault, tileBytesMax } from "../../src/map-tiles/fetch-tile.js";
import { createServerWatch } from "../../src/map-tiles/server-watch.js";
import { createTileCache } from "../../src/map-tiles/tile-cache.js";
import { fetchedAtOnce } from "../../src/map-tiles/tile-source.js";
import { assert, suite, until } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import { openTileServer, paleTile } from "./tile-server.js";

const server = await openTileServer();
const path = "/api/v1/map_tiles";
const day = 24 * 3_600_000;

suite("map tiles: settings", (test) => {
  const wrong = (settings: Readonly<Record<string, string>>): readonly string[] => {
    try {
      readConfig(settings);
      return [];
    } catch (error) {
      return (error as ConfigError).problems;
    }
  };
  const named = { MAP_TILES_ATTRIBUTION: "© somebody" };

  test("an address that is no template is refused, and a source without a name", () => {
    const right = "https://tiles.example.com:8443/a/{z}/{x}/{y}@2x.png?key=1";
    assert.equal(wrong({ MAP_TILES_URL: right, ...named }), []);
    for (const url of [
      ...[
        "x",
        "ftp://a/{z}/{x}/{y}",
        "https://a/{z}/{x}",
        "https://{s}.a/{z}/{x}/{y}",
        "https://a{z}/{x}/{y}",
      ],
      ...[
        "https://u:p@a/{z}/{x}/{y}",
        "https://a/{z}/{x}/{y}/{r}",
        "https://a/#{z}/{x}/{y}",
        "https:///{z}/{x}/{y}",
      ],
      ...["https://a/{z}/{x}/{y} b", "javascript:{z}/{x}/{y}", `https://a/{z}/{x}/{y}${"a".repeat(2048)}`],
    ]) {
      const [problem = ""] = wrong({ MAP_TILES_URL: url, ...named });
      assert.match(problem, /^MAP_TILES_URL: /, url);
    }
    assert.match(wrong({ MAP_TILES_URL: right }).join(), /^MAP_TILES_ATTRIBUTION: is required/);
    assert.match(wrong(named).join(), /^MAP_TILES_ATTRIBUTION: needs MAP_TILES_URL/);
  });
});

suite("map tiles: what is kept", (test) => {
  const tileOf = (length: number) => ({
    tile: { bytes: new Uint8Array(length), type: "image/png" as const },
  });

  test("the tiles used last stay within the bytes", () => {
    const cache = createTileCache(10_000);
    for (const key of ["a", "b", "c"]) cache.set(key, { ...tileOf(3000), freshUntil: 1 });
    assert.ok(cache.get("a"), "all three fit");
    cache.set("d", { ...tileOf(3000), freshUntil: 1 });
    assert.equal(
      ["a", "b", "c", "d"].filter((key) => cache.get(key) !== undefined),
      ["a", "c", "d"],
    );
    for (let i = 0; i < 5; i++) cache.set("d", { ...tileOf(3000), freshUntil: 1 });
    assert.ok(cache.get("a"), "the same one again counts once");
  });

  test("the log has one line when the server's trouble begins, and one when it is over", () => {
    const lines: string[] = [];
    let now = 0;
    const log = {
      warn: (line: string) => lines.push(`warn ${line}`),
      info: (line: string) => lines.push(line),
    };
    const watch = createServerWatch("tiles.example.com", log as never, () => now);
    const fault = new TileFault("it answered 503", "server");
    for (let i = 0; i < 10; i++) {
      watch.failed(fault);
      now += 1000;
      watch.succeeded();
    }
    assert.is(lines.length, 1, "now and then is one trouble");
    assert.is(watch.pause, null, "it answers between its faults");
    for (let i = 0; i < 3; i++) watch.failed(fault);
    assert.is(watch.pause, fault);
    now += 61_000;
    assert.is(watch.pause, null);
    watch.succeeded();
    watch.succeeded();
    assert.equal(lines, [
      "warn the map's tile server is in trouble; maps show outlines instead",
      "the map's tile server is well again",
    ]);
  });
});

worldSuite("map tiles: no tile server", (test, world) => {
  test("there are no tiles, and no answer mentions any", async () => {
    refused(await world.call("GET", `${path}/0/0/0`), "DATA_NOT_FOUND");
    assert.is((await world.call("GET", "/api/v1/me")).record.mapTiles, null);
  });
});

worldSuite(
  "map tiles",
  (test, world) => {
    const usual = server.answer;
    test.before.each(() => {
      server.answer = usual;
      server.asked.length = 0;
      // A pause of the test before is over.
      world.clock.pass(10_000);
    });
    test.after(() => server.close());
    const asks = (place: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${world.http}${path}/${place}`, {
        headers: { Authorization: `Bearer ${world.first.apiKey}`, ...headers },
      });
    const fails = async (place: string, errorCode: string, words: RegExp): Promise<void> => {
      const reply = await world.call("GET", `${path}/${place}`);
      refused(reply, errorCode);
      assert.match(reply.failure.message, words);
      assert.not.match(reply.text, /secret/);
    };

    test("a tile is handed on as it is, once fetched from memory; its source is named", async () => {
      server.answer = (response) =>
        response
          .writeHead(200, {
            "Content-Type": "image/PNG; x=y",
            "Cache-Control": "public, max-age=7200",
            "X-Other": "1",
          })
          .end(paleTile);
      for (let i = 0; i < 2; i++) {
        const { status, headers, arrayBuffer } = await asks("3/4/2").then(async (one) => {
          const bytes = await one.arrayBuffer();
          return { status: one.status, headers: one.headers, arrayBuffer: bytes };
        });
        assert.is(status, 200);
        assert.ok(Buffer.from(arrayBuffer).equals(paleTile));
        assert.is(headers.get("content-type"), "image/png");
        assert.is(headers.get("x-content-type-options"), "nosniff");
        assert.is(headers.get("cross-origin-resource-policy"), "same-origin");
        assert.match(headers.get("cache-control") ?? "", /^private, max-age=(7200|7199)$/);
        assert.is(headers.get("x-other"), null);
      }
      assert.equal(server.asked, ["/3/4/2.png?key=secret"]);
      const { mapTiles } = (await world.call("GET", "/api/v1/me")).record;
      assert.equal(mapTiles, { attribution: server.attribution, dark: "invert" });
    });

    test("callers who may read may see it, nobody else; the tile server learns nothing about the caller", async () => {
      let heard: object = {};
      server.answer = (response, request) => {
        heard = request.headers;
        usual(response, request);
      };
      assert.is((await fetch(`${world.http}${path}/2/1/1`)).status, 401);
      assert.equal(server.asked, []);
      const viewer = await world.keyOf("viewer");
      const cookie = { Authorization: `Bearer ${viewer}`, Cookie: "a=b", "X-Forwarded-For": "10.1.1.1" };
      assert.is((await asks("2/1/1", cookie)).status, 200);
      assert.equal(
        Object.keys(heard).filter((name) => /cookie|authorization|forwarded|referer|origin/.test(name)),
        [],
      );
      assert.match(String((heard as { "user-agent"?: string })["user-agent"]), /^Tidemark\/\d/);
    });

    test("a place that no grid has is refused, and the server is not asked", async () => {
      for (const [place, ...fields] of [
        ["23/0/0", "z"],
        ["-1/0/0", "z"],
        ["2/4/0", "x"],
        ["2/0/4", "y"],
        ["2/1.5/..%2f..%2fa", "x", "y"],
        ["a/b/c", "z", "x", "y"],
        ["1/01e1/0", "x"],
      ] as const) {
        refused(await world.call("GET", `${path}/${place}`), "PARAMETER_INVALID", ...fields);
      }
      assert.equal(server.asked, []);
    });

    test("where the server has no tile, there is a clear one", async () => {
      server.answer = (response) => response.writeHead(404, { "Content-Type": "text/plain" }).end("none");
      const reply = await asks("4/1/1");
      assert.is(reply.status, 200);
      assert.is(reply.headers.get("content-type"), "image/png");
      assert.ok((await reply.arrayBuffer()).byteLength < 200);
      await asks("4/1/1");
      assert.is(server.asked.length, 1, "that there is none is kept, too");
    });

    test("what is no image, too large or led elsewhere is refused in words", async () => {
      server.answer = (response) =>
        response.writeHead(200, { "Content-Type": "image/svg+xml" }).end("<svg/>");
      await fails("5/0/0", "BAD_GATEWAY", /image\/svg\+xml in place of an image/);
      server.answer = (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<p>");
      await fails("5/0/1", "BAD_GATEWAY", /text\/html in place of an image/);
      let isCutOff = false;
      server.answer = (response) => {
        response.writeHead(200, { "Content-Type": "image/png" });
        response.on("close", () => {
          isCutOff = true;
        });
        const more = (): void => {
          while (!isCutOff && response.write(Buffer.alloc(65_536)));
        };
        response.on("drain", more);
        more();
      };
      await fails("5/0/2", "BAD_GATEWAY", new RegExp(`more than ${tileBytesMax} bytes`));
      await until(() => isCutOff, { what: "the endless tile to be cut off" });
      server.answer = (response) =>
        response.writeHead(302, { Location: server.template.replace("{z}/{x}/{y}", "elsewhere") }).end();
      server.asked.length = 0;
      await fails("5/0/3", "BAD_GATEWAY", /302, a redirect, which is not followed/);
      assert.is(server.asked.length, 1, "nobody goes where it leads");
      server.answer = (response) => response.writeHead(500).end();
      await fails("5/0/4", "BAD_GATEWAY", /it answered 500/);
    });

    test("a server that hangs is not waited for without end, and takes no other's turn", async () => {
      const held: (() => void)[] = [];
      server.answer = (response, request) => {
        if (request.url?.startsWith("/6/") === true) held.push(() => usual(response, request));
        else usual(response, request);
      };
      const one = { "X-Forwarded-For": "10.0.0.1" };
      const hanging = Array.from({ length: 12 }, (_, i) => asks(`6/${i}/0`, one));
      await until(() => held.length === fetchedAtOnce - 1, { what: "all turns of one address to be taken" });
      const other = await asks("7/0/0", { "X-Forwarded-For": "10.0.0.2" });
      assert.is(other.status, 200, "another address has its turn");
      assert.ok(held.length < fetchedAtOnce, `${held.length} of one address at once`);
      const statuses = (await Promise.all(hanging)).map(({ status }) => status);
      assert.equal(new Set(statuses), new Set([504]));
    });

    test("several who ask for the same tile at once are one request", async () => {
      let release = (): void => undefined;
      server.answer = (response, request) => {
        release = () => usual(response, request);
      };
      const same = Array.from({ length: 4 }, () => asks("8/1/1"));
      await until(() => server.asked.length > 0, { what: "the request" });
      release();
      for (const { status } of await Promise.all(same)) assert.is(status, 200);
      assert.is(server.asked.length, 1);
    });

    test("one that is gone is left alone for a moment; what was there before serves on", async () => {
      assert.is((await asks("9/1/1")).status, 200);
      world.clock.pass(2 * day);
      server.answer = (response) => response.destroy();
      const old = await asks("9/1/1");
      assert.is(old.status, 200, "an old tile is better than none");
      assert.is(old.headers.get("cache-control"), "private, max-age=60");
      for (let i = 0; i < 2; i++) await fails(`9/2/${i}`, "BAD_GATEWAY", /cannot be reached/);
      const before = server.asked.length;
      await fails("9/2/5", "BAD_GATEWAY", /cannot be reached/);
      assert.is(server.asked.length, before, "after three faults in a row it is not asked");
      world.clock.pass(5000);
      server.answer = usual;
      assert.is((await asks("9/2/5")).status, 200);
    });
  },
  {
    MAP_TILES_URL: server.template,
    MAP_TILES_ATTRIBUTION: server.attribution,
    TRUSTED_PROXIES: "127.0.0.1",
  },
);

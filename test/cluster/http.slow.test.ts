/** Devices that speak HTTP reach their node through each of a cluster's. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { payloadsOf, provision, valuesOf } from "../flow/support.js";
import { assert, influxSuite, openTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, placesOf, startCluster } from "./three-nodes.js";

influxSuite("a cluster, HTTP of devices", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx(), { HTTPS_PORT: "0" });
    devices = await provision(nodeAt(0), 3);
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const { nodeAt, keeperPlace, keptAt } = placesOf(
    () => cluster,
    () => devices,
  );

  function ask(place: number, device: Rec, path: string, init: RequestInit = {}): Promise<Response> {
    const login = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
    const headers = {
      Authorization: `Basic ${login}`,
      ...(init.headers as Record<string, string> | undefined),
    };
    return fetch(`${nodeAt(place).addresses.http}${path}`, { ...init, headers });
  }
  const post = (place: number, device: Rec, path: string, body: string, headers = {}): Promise<Response> =>
    ask(place, device, path, { method: "POST", body, headers });

  test("an uplink through any node is kept once, by the device's own, with the client's address", async () => {
    for (const device of devices) {
      for (const place of numbers.keys()) {
        const { status } = await post(place, device, "/api/v1/uplinks/data", `{"n":${place}}`);
        assert.is(status, 204);
      }
    }
    for (const node of cluster.nodes) await node.settled();
    for (const device of devices) {
      const own = nodeAt(keeperPlace(device));
      assert.equal(await payloadsOf(own, device), ['{"n":0}', '{"n":1}', '{"n":2}']);
      assert.equal(await valuesOf(nodeAt(keeperPlace(device) + 1), device), [0, 1, 2]);
    }
  });

  test("what repeats through another node is recognised by its id", async () => {
    const device = keptAt(1);
    const before = (await payloadsOf(nodeAt(1), device)).length;
    for (const place of numbers.keys()) {
      const { status } = await post(place, device, "/api/v1/uplinks/data", '{"n":50}', {
        "Message-Id": "same",
      });
      assert.is(status, 204);
    }
    assert.is((await payloadsOf(nodeAt(1), device)).length, before + 1);
  });

  test("batches, line protocol and large bodies pass whole", async () => {
    const device = keptAt(2);
    const pad = randomBytes(100 * 1024).toString("hex");
    const large = await post(0, device, "/api/v1/uplinks/data", JSON.stringify({ n: 60, pad }));
    assert.is(large.status, 204);
    const written = await post(1, device, "/api/v2/write?org=o&bucket=b&precision=ms", "data n=61");
    assert.is(written.status, 204, await written.text());
    for (const node of cluster.nodes) await node.settled();
    const values = await valuesOf(nodeAt(0), device);
    assert.equal(values.slice(-2), [60, 61]);
  });

  test("a poll that waits at one node gets what is sent by the device's own", async () => {
    const device = keptAt(0);
    assert.is((await ask(1, device, "/api/v1/inbox")).status, 204);
    const waiting = ask(1, device, "/api/v1/inbox?wait=20");
    const sent = await nodeAt(0).call("POST", "/api/v1/device_publish", {
      deviceIntID: device.id,
      payload: "hello",
      ttl: 60,
    });
    const answer = await waiting;
    assert.match(sent.text, "successful");
    assert.is(answer.status, 200);
    assert.is(await answer.text(), "hello");
  });

  test("a wrong token is refused by the device's node; what a client says of itself in our header is nothing", async () => {
    const device = keptAt(1);
    const refused = await post(0, { ...device, token: "wrong" }, "/api/v1/uplinks/data", '{"n":70}');
    assert.is(refused.status, 401);
    const claimed = await post(1, device, "/api/v1/uplinks/data", '{"n":71}', {
      "Tidemark-Client": '{"address":"9.9.9.9","isSecure":true,"certificate":null}',
    });
    assert.is(claimed.status, 204);
    const { text } = await nodeAt(1).call("GET", `/api/v1/devices/${device.id}/connect_logs`);
    assert.not.match(text, "9.9.9.9");
    assert.match(text, "127.0.0.1");
  });

  test("a client can neither pass for a node nor send what another request carries", async () => {
    const [device, victim] = [keptAt(1), keptAt(2)];
    const before = await payloadsOf(nodeAt(2), victim);
    const { port } = new URL(String(nodeAt(0).addresses.http));
    const raw = async (text: string): Promise<string> => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(text);
      let answer = "";
      socket.on("data", (piece: Buffer) => {
        answer += String(piece);
      });
      socket.on("error", () => undefined);
      await new Promise((resolve) => setTimeout(resolve, 700));
      socket.destroy();
      return answer;
    };
    const basic = (one: Rec): string =>
      `Authorization: Basic ${Buffer.from(`${one.deviceUsername}:${one.token}`).toString("base64")}`;
    const forged = 'tidemark-client: {"address":"9.9.9.9","isSecure":true,"certificate":null}';
    const inner = [
      "POST /api/v1/uplinks/data HTTP/1.1",
      "Host: x",
      forged,
      basic(victim),
      "Content-Length: 9",
      "",
      '{"n":666}',
    ].join("\r\n");
    const headOf = (method: string, ...more: readonly string[]): string =>
      [`${method} /api/v1/inbox HTTP/1.1`, "Host: x", basic(device), ...more, "", ""].join("\r\n");
    const chunk = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
    const length = `Content-Length: ${inner.length}`;
    for (const text of [
      `${headOf("GET", "Transfer-Encoding: chunked")}${chunk}`,
      `${headOf("GET", length, "Connection: content-length")}${inner}`,
      `${headOf("DELETE", "Transfer-Encoding: chunked")}${chunk}`,
    ]) {
      assert.match(await raw(text), /^HTTP\/1.1 \d+/);
    }
    const call = `{"call":"sendToMembers","topic":"inbox","payload":"eA==","targets":[${victim.id}]}`;
    const many = Array.from({ length: 1996 }, (_, i) => `a${i}: b`);
    for (const [path, more] of [
      ["/api/v1/uplinks/data", []],
      ["/api/v1/uplinks/data", many],
      ["/", []],
    ] as const) {
      const head = [
        `POST ${path} HTTP/1.1`,
        "Host: x",
        basic(device),
        ...more,
        `Content-Length: ${call.length}`,
      ];
      assert.not.match(await raw([...head, "", call].join("\r\n")), "[true]");
    }
    const alive = await post(0, device, "/api/v1/uplinks/data", '{"n":77}');
    assert.is(alive.status, 204);
    assert.equal(await payloadsOf(nodeAt(2), victim), before);
  });

  test("an upload may take longer than a stranger's, at each node", async () => {
    const device = keptAt(1);
    const { port } = new URL(String(nodeAt(0).addresses.http));
    const login = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
    const head = `POST /api/v1/uplinks/data HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${login}\r\n`;
    const upload = async (framing: string, start: string, rest: string): Promise<void> => {
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(`${head}${framing}\r\n\r\n${start}`);
      await new Promise((resolve) => setTimeout(resolve, 13_000));
      socket.write(rest);
      const [answer] = (await once(socket, "data")) as [Buffer];
      assert.match(String(answer), /^HTTP\/1.1 204/, framing);
      socket.destroy();
    };
    await Promise.all([
      upload("Content-Length: 16", '{"n":78', ',"pad":1}'),
      upload("Transfer-Encoding: chunked", '7\r\n{"n":78\r\n', '9\r\n,"pad":1}\r\n0\r\n\r\n'),
    ]);
  });

  test("over TLS as well: a device's request, and a call of the API", async () => {
    const device = keptAt(1);
    const asked = (path: string, headers: object, body?: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const options = { method: body === undefined ? "GET" : "POST", rejectUnauthorized: false };
        const request = httpsRequest(`${nodeAt(0).addresses.https}${path}`, {
          ...options,
          headers: { ...headers },
        });
        request.on("response", (response) => resolve(response.resume().statusCode ?? 0));
        request.on("error", reject).end(body);
      });
    const login = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
    assert.is(await asked("/api/v1/uplinks/data", { Authorization: `Basic ${login}` }, '{"n":79}'), 204);
    const authorization = { Authorization: `Bearer ${cluster.apiKey}` };
    assert.is(await asked(`/api/v1/devices/${device.id}/events`, authorization), 200);
    assert.is((await payloadsOf(nodeAt(1), device)).at(-1), '{"n":79}');
  });

  test("while a node is away its devices get 503, the others go on", async () => {
    await nodeAt(1).kill();
    const away = await post(0, keptAt(1), "/api/v1/uplinks/data", '{"n":80}');
    assert.is(away.status, 503);
    const other = await post(0, keptAt(2), "/api/v1/uplinks/data", '{"n":81}');
    assert.is(other.status, 204);
    await cluster.start(1);
    const back = await post(0, keptAt(1), "/api/v1/uplinks/data", '{"n":82}');
    assert.is(back.status, 204);
  });
});

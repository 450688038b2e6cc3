/** Faults published of ThingsBoard, ChirpStack, Grafana and InfluxDB, each replayed in kind. */
import { createHmac } from "node:crypto";
import { exchange } from "../api/raw-http.js";
import { ended } from "../api/transfer.js";
import { deviceBody, productBody } from "../factories.js";
import { eventsOf } from "../ingest/support.js";
import { codeOf, connectPacket, openClient, publishing } from "../ingest/transports/mqtt/raw-client.js";
import { assert } from "../suite.js";
import { type Rec, refused } from "../world.js";
import { publishedSuite } from "./support.js";

interface Reference {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Answer without credentials: what says that the service lives, its reference, and how to get credentials. */
const open = /^\/(healthz|readyz|openapi\.json|reference.*|api\/v1\/(login|download)|download)$/;

publishedSuite("platforms", (test, world, scene) => {
  let people = 0;
  /** The session of a new user of the first tenant. */
  const userOf = async (role: string): Promise<{ readonly user: Rec; readonly key: string }> => {
    const credentials = { username: `person-${++people}`, password: "correct horse" };
    const user = await world.make("/api/v1/users", { ...credentials, role });
    const { token } = await world.make("/api/v1/login", credentials, { key: null });
    return { user, key: String(token) };
  };

  test("CVE-2022-45608 (ThingsBoard): nobody raises their own role by naming it in a body", async () => {
    const { user, key } = await userOf("viewer");
    const raised = { role: "admin", authority: "SYS_ADMIN", access: "admin" };
    refused(await world.call("PUT", `/api/v1/users/${user.id}`, raised, { key }), "PERMISSION_DENIED");
    refused(await world.call("POST", "/api/v1/api_keys", { role: "admin" }, { key }), "PERMISSION_DENIED");
    refused(await world.call("POST", "/api/v1/users", raised, { key }), "PERMISSION_DENIED");
    assert.is((await world.call("GET", "/api/v1/me", undefined, { key })).record.role, "viewer");
  });

  test("CVE-2022-48341 (ThingsBoard): a tenant's administrator gets no wider scope by asking for it", async () => {
    const key = await world.otherTenant();
    const wider = "scopes=SYS_ADMIN&scope=deployment&tenantID=1&tenant=1&role=admin";
    for (const path of ["/api/v1/tenants", "/api/v1/broker_access"]) {
      const reply = await world.call("GET", `${path}?${wider}`, undefined, { key });
      assert.ok([403, 404].includes(reply.status), `${path}: ${reply.status}`);
    }
    refused(
      await world.call(
        "POST",
        "/api/v1/tenants",
        { tenantName: "t", username: "u", scopes: ["SYS_ADMIN"] },
        { key },
      ),
      "PERMISSION_DENIED",
    );
    const listed = await world.call("GET", `/api/v1/users?${wider}`, undefined, { key });
    for (const { username } of listed.page.items ?? []) assert.is(username, "other-admin");
  });

  test("CVE-2022-31861 (ThingsBoard): what the log of changes shows of names is JSON, never a page", async () => {
    const script = '<img src=x onerror="alert(1)">';
    const product = await world.make("/api/v1/products", productBody({ productName: script }));
    const reply = await world.call("GET", `/api/v1/changes?entity=product&recordID=${product.id}`);
    assert.match(reply.headers.get("content-type") ?? "", /^application\/json/);
    assert.ok(
      reply.page.items.some(({ detail }) => JSON.stringify(detail).includes("onerror")),
      reply.text,
    );
  });

  test("CVE-2020-27687 (ThingsBoard): a forged Host is in no answer", async () => {
    const forged = "evil.example";
    for (const path of [
      "/api/v1/login",
      "/api/v1/broker_info",
      "/reference",
      "/openapi.json",
      "/nowhere",
      "/",
    ]) {
      const head = `GET ${path} HTTP/1.1\r\nHost: ${forged}\r\nX-Forwarded-Host: ${forged}\r\nForwarded: host=${forged}\r\n`;
      const key = `Authorization: Bearer ${world.first.apiKey}\r\n`;
      const answers = await exchange(world.http, `${head}${key}Connection: close\r\n\r\n`);
      const told = JSON.stringify(answers.map(({ headers, body }) => [[...headers], body]));
      assert.not.ok(told.includes(forged), path);
    }
  });

  test("CVE-2023-26462 (ThingsBoard): no credentials come with the service", async () => {
    for (const password of ["admin", "password", "sysadmin", "tenant", "tidemark", ""]) {
      const username = password === "sysadmin" ? "sysadmin@thingsboard.org" : "nobody-yet";
      const reply = await world.call("POST", "/api/v1/login", { username, password }, { key: null });
      refused(reply, "AUTH_FAILED");
    }
    assert.ok(world.first.password.length >= 16 && world.first.apiKey.length >= 32);
  });

  test("CVE-2024-9358 (ThingsBoard): commands to a device that does not answer hold no call", async () => {
    const device = await scene.device();
    const silent = await openClient(world.mqtt, 4);
    silent.send(connectPacket(device, 4));
    await silent.next("connack");
    silent.socket.pause();
    const body = { deviceID: device.deviceID, payload: "x".repeat(1000) };
    const calls = Array.from({ length: 200 }, () => world.call("POST", "/api/v1/device_publish", body));
    const said = (await Promise.all(calls)).map(({ status }) => status);
    assert.ok(
      said.every((status) => status < 500),
      said.join(),
    );
    await silent.cut();
  });

  test("CVE-2024-29862 (ChirpStack): nothing is taken of a connection that is not accepted yet, or is refused", async () => {
    const device = await scene.device();
    for (const version of [4, 5] as const) {
      const early = await openClient(world.mqtt, version);
      early.send(publishing("data", { payload: '{"temp":1}' }));
      await early.ended();
      const wrong = await openClient(world.mqtt, version);
      wrong.send(
        connectPacket(device, version, { password: Buffer.from("wrong") }),
        publishing("data", { payload: '{"temp":2}' }),
      );
      assert.ok((codeOf(await wrong.next("connack")) ?? 0) > 0);
      await wrong.ended();
    }
    assert.equal(await eventsOf(world, device), []);
  });

  test("CVE-2021-43798 (Grafana): no path of the reference leads to a file of the service", async () => {
    for (const up of ["..", "%2e%2e", "..%2f", "..;", "%252e%252e"]) {
      const path = `/reference/${`${up}/`.repeat(8)}etc/passwd`;
      const [answer] = await exchange(
        world.http,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      assert.ok([400, 404].includes(answer?.status ?? 0), path);
      assert.not.match(answer?.body ?? "", /root:/);
    }
  });

  test("CVE-2021-39226 (Grafana): the literal name of a parameter finds no record", async () => {
    const { paths } = (await world.call("GET", "/openapi.json")).record as unknown as Reference;
    await scene.device();
    for (const path of Object.keys(paths).filter((one) => one.includes("{"))) {
      for (const name of [":id", "{id}", "%7Bid%7D", "*"]) {
        const asked = path.replaceAll(/\{\w+\}/g, name);
        const { status } = await world.call("GET", asked);
        // A caller's key opens no share: those ask for a token of their own.
        const expected = path.startsWith("/api/v1/shared/") ? [401] : [400, 404, 405];
        assert.ok(expected.includes(status), `${asked}: ${status}`);
      }
    }
  });

  test("CVE-2018-15727 (Grafana): what can be made of a user's name alone is no session", async () => {
    const { username } = world.first;
    const sign = (text: string) => createHmac("sha256", username).update(text).digest("hex");
    const forged = [username, `${username}:`, `${username}:${sign(username)}`, sign(username)];
    for (const key of [...forged, ...forged.map((one) => Buffer.from(one).toString("base64"))]) {
      const reply = await world.call("GET", "/api/v1/me", undefined, { key });
      assert.is(reply.status, 401, key);
    }
    const cookie = `grafana_user=${username}; grafana_remember=${sign(username)}; token=${username}`;
    const headers = { Cookie: cookie, "X-WEBAUTH-USER": username };
    assert.is((await world.call("GET", "/api/v1/me", undefined, { key: null, headers })).status, 401);
  });

  test("CVE-2019-15043 (Grafana): every route but a closed list asks for credentials before anything else", async () => {
    const { paths } = (await world.call("GET", "/openapi.json")).record as unknown as Reference;
    const free: string[] = [];
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) {
        const asked = path.replaceAll(/\{\w+\}/g, "1");
        const body = method === "get" || method === "delete" ? undefined : {};
        const { status } = await world.call(method.toUpperCase(), asked, body, { key: null });
        if (status !== 401) free.push(path);
      }
    }
    assert.equal(
      free.filter((path) => !open.test(path)),
      [],
    );
  });

  test("CVE-2022-39307 (Grafana): no answer without credentials shows whether a name exists", async () => {
    const { user } = await userOf("viewer");
    const told = async (username: unknown) => {
      const reply = await world.call(
        "POST",
        "/api/v1/login",
        { username, password: "not theirs" },
        { key: null },
      );
      return [reply.status, reply.text];
    };
    assert.equal(await told(user.username), await told("person-0"));
    for (const name of [user.username, "person-0"]) {
      assert.is(
        (await world.call("GET", `/api/v1/users?username=${name}`, undefined, { key: null })).status,
        401,
      );
    }
  });

  test("CVE-2022-21713 (Grafana): records of another tenant are not there, by id and in lists", async () => {
    const device = await scene.device();
    const { user } = await userOf("operator");
    const key = await world.otherTenant();
    for (const path of [`users/${user.id}`, `devices/${device.id}`, `products/${scene.product.id}`]) {
      refused(await world.call("GET", `/api/v1/${path}`, undefined, { key }), "DATA_NOT_FOUND");
    }
    for (const list of ["devices", "products", "users"]) {
      const { page } = await world.call("GET", `/api/v1/${list}?_limit=1000`, undefined, { key });
      assert.not.ok(
        page.items.some(({ id }) => [user.id, device.id, scene.product.id].includes(id) && list !== "users"),
      );
      if (list === "users") assert.not.ok(page.items.some(({ username }) => username === user.username));
    }
  });

  test("CVE-2021-41244 (Grafana): an administrator gives no role to users of another tenant", async () => {
    const { user, key: own } = await userOf("viewer");
    const key = await world.otherTenant();
    refused(
      await world.call("PUT", `/api/v1/users/${user.id}`, { role: "admin" }, { key }),
      "DATA_NOT_FOUND",
    );
    await world.call("DELETE", `/api/v1/users?ids=${user.id}`, undefined, { key });
    assert.is((await world.call("GET", "/api/v1/me", undefined, { key: own })).record.role, "viewer");
  });

  test("CVE-2024-1313 (Grafana): a caller who knows the id of another tenant's record cannot delete it", async () => {
    const device = await scene.device();
    const key = await world.otherTenant();
    for (const ids of [device.id, device.deviceID]) {
      await world.call("DELETE", `/api/v1/devices?ids=${ids}`, undefined, { key });
    }
    await world.call("DELETE", `/api/v1/products?ids=${scene.product.id}`, undefined, { key });
    assert.is((await world.call("GET", `/api/v1/devices/${device.id}`)).status, 200);
    assert.is((await world.call("GET", `/api/v1/products/${scene.product.id}`)).status, 200);
  });

  test("CVE-2023-2183 (Grafana): a viewer sends nothing to anybody", async () => {
    const device = await scene.device();
    const key = await world.keyOf("viewer");
    const command = { deviceID: device.deviceID, payload: "on" };
    for (const [path, body] of [
      ["device_publish", command],
      ["device_schedule_publish", { ...command, scheduleName: "s", scheduleType: 1, IntervalMinute: "60" }],
      ["group_publish", { groupIntID: 1, payload: "on" }],
      ["devices", deviceBody(scene.product)],
    ] as const) {
      refused(await world.call("POST", `/api/v1/${path}`, body, { key }), "PERMISSION_DENIED");
    }
    const logs = await world.call("GET", `/api/v1/devices/${device.id}/control_logs`);
    assert.is(logs.page.meta.count, 0);
  });

  test("CVE-2024-1442 (Grafana): a record named like a wildcard is that record and no other", async () => {
    const others = [await scene.device(), await scene.device()];
    for (const deviceID of ["*", "%", "_", "%25"]) {
      const made = await world.call("POST", "/api/v1/devices", deviceBody(scene.product, { deviceID }));
      if (made.status === 201) {
        const { page } = await world.call("GET", `/api/v1/devices?deviceID=${encodeURIComponent(deviceID)}`);
        assert.equal(
          page.items.map((one) => one.deviceID),
          [deviceID],
        );
        await world.call("DELETE", `/api/v1/devices?ids=${encodeURIComponent(deviceID)}`);
      } else {
        refused(made, "PARAMETER_INVALID", "deviceID");
      }
    }
    for (const { id } of others) assert.is((await world.call("GET", `/api/v1/devices/${id}`)).status, 200);
  });

  test("CVE-2019-20933 (InfluxDB): a token signed with nothing, or not at all, is none", async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = part({ username: world.first.username, role: "admin", exp: 4102444800 });
    const signed = (alg: string, secret: string) => {
      const text = `${part({ alg, typ: "JWT" })}.${claims}`;
      return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
    };
    const none = `${part({ alg: "none", typ: "JWT" })}.${claims}.`;
    for (const key of [none, signed("HS256", ""), signed("HS256", "secret"), signed("none", "")]) {
      assert.is((await world.call("GET", "/api/v1/me", undefined, { key })).status, 401);
    }
  });

  test("CVE-2024-30896 (InfluxDB): no list or detail shows the secret of a key or a user", async () => {
    const made = await world.make("/api/v1/api_keys", { role: "admin" });
    const secrets = [String(made.appSecret), world.first.password, String(world.first.apiKey.split(":")[1])];
    for (const path of [
      "api_keys?_limit=1000",
      `api_keys/${made.id}`,
      "users?_limit=1000",
      "changes?_limit=1000",
    ]) {
      const { status, text } = await world.call("GET", `/api/v1/${path}`);
      assert.is(status, 200);
      for (const secret of secrets) assert.not.ok(text.includes(secret), path);
    }
    for (const role of ["operator", "viewer"] as const) {
      const key = await world.keyOf(role);
      refused(await world.call("GET", "/api/v1/api_keys", undefined, { key }), "PERMISSION_DENIED");
    }
  });

  test("CVE-2024-30896 (InfluxDB): a caller who may not export gets no link to a file with tokens", async () => {
    const reply = await world.call("GET", "/api/v1/devices_export?format=csv");
    const status = await ended(world, reply);
    assert.ok(status.excelPath, JSON.stringify(status));
    const key = await world.keyOf("viewer");
    const seen = await world.call("GET", String(reply.record.statusUrl), undefined, { key });
    assert.not.ok(seen.text.includes("token="), seen.text);
  });
});

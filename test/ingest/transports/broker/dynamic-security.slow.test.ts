/** `tidemark mosquitto-config` against the plugin itself, with the configuration of docs/brokers. */
import { execFile } from "node:child_process";
import { pbkdf2Sync } from "node:crypto";
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { IClientOptions, MqttClient } from "mqtt";
import { type AnyService, openService, payloadsOf } from "../../../flow/support.js";
import { freePort } from "../../../free-port.js";
import { program } from "../../../program.js";
import { repositoryRoot } from "../../../repository.js";
import { assert, openTempDir, suite, until } from "../../../suite.js";
import { listenersOff, type Rec } from "../../../world.js";
import { brokerMissing, type Mosquitto, securityPlugin, startMosquitto } from "./mosquitto.js";
import { makeDevice, pointOf } from "./support.js";

const documented = join(repositoryRoot(), "docs/brokers/mosquitto.conf");
const run = promisify(execFile);

suite("mosquitto-config and the dynamic security plugin", (test) => {
  const missing = brokerMissing();
  if (missing !== null) {
    test.skip("everything", missing);
    return;
  }
  let dirs: Awaited<ReturnType<typeof openTempDir>>[] = [];
  let broker: Mosquitto;
  let service: AnyService;
  let environment: Record<string, string>;
  let file: string;
  let [plain, ruled, blocked, other, policed]: Rec[] = [];
  /** What the tool has printed. */
  let told: Readonly<Record<"clients" | "roles", number>> & {
    readonly leftOut: readonly string[];
    readonly unwritten: { readonly devices: readonly object[]; readonly policies: readonly Rec[] };
  };
  let commonName: string;
  const need = (device: Rec | undefined): Rec => device ?? { id: 0 };

  test.before(async () => {
    const [brokerDir, dataDir] = [await openTempDir(), await openTempDir()];
    dirs = [brokerDir, dataDir];
    const port = await freePort();
    environment = {
      DATA_DIR: dataDir.path,
      BROKER_URL: `mqtt://127.0.0.1:${port}`,
      BROKER_USERNAME: "tidemark",
      BROKER_PASSWORD: "secret-of-it",
      ...listenersOff,
      FREE_BYTES_MIN: "0",
    };
    service = await openService(dataDir.path, environment);
    const product = await service.make("/api/v1/products", { productName: "dynsec", cloudProtocol: 1 });
    await service.make("/api/v1/data_points", pointOf(product));
    [plain, ruled, blocked, other] = [
      await makeDevice(service, product),
      await makeDevice(service, product, { deviceUsername: "ruled" }),
      await makeDevice(service, product, { blocked: 1 }),
      await makeDevice(service, product),
    ];
    await service.call("PUT", `/api/v1/devices/${blocked.id}`, { blocked: 1 });
    for (const rule of [
      { name: "1", topic: "secret/#", access: 2, allow: 0 },
      { name: "2", topic: "of/%d/+", access: 0, allow: 1 },
      { name: "3", topic: "of/%d/no", access: 0, allow: 0 },
      { name: "4", topic: "inbox", access: 1, allow: 0 },
    ]) {
      const policy = await service.make("/api/v1/policies", rule);
      const bound = await service.call("POST", `/api/v1/devices/${ruled.id}/policies`, { ids: [policy.id] });
      assert.is(bound.status, 201, bound.text);
    }
    const bearer = await makeDevice(service, product, { authType: 2 });
    const cert = await service.make("/api/v1/certs", { name: "bearer", enable: 1 });
    commonName = String(cert.CN);
    const bound = await service.call("POST", `/api/v1/devices/${bearer.id}/certs`, { ids: [cert.id] });
    assert.is(bound.status, 201, bound.text);
    for (const deviceUsername of ["app", "admin", "member", "tidemark", commonName]) {
      await makeDevice(service, product, { deviceUsername, token: "squatter" });
    }
    for (const name of posing) {
      await makeDevice(service, product, { deviceID: name, deviceUsername: `as ${name}`, token: "poser" });
    }
    const posed = await service.make("/api/v1/policies", {
      name: "5",
      topic: "to/%c/#",
      access: 2,
      allow: 1,
    });
    policed = await makeDevice(service, product, { deviceUsername: "policed", token: "policed" });
    await service.call("POST", `/api/v1/devices/${policed.id}/policies`, { ids: [posed.id] });
    file = join(brokerDir.path, "dynamic-security.json");
    await writeFile(file, JSON.stringify(there));
    await chmod(file, 0o640);
    const { stdout } = await run(process.execPath, [program, "mosquitto-config", file], { env: environment });
    told = JSON.parse(stdout);
    const whole = (await readFile(documented, "utf8"))
      .replace("listener 1883", `listener ${port} 127.0.0.1`)
      .replace(/^plugin .*/m, `plugin ${securityPlugin()}`)
      .replaceAll("/var/lib/mosquitto/", `${brokerDir.path}/`);
    broker = await startMosquitto({ dir: brokerDir.path, port, whole });
    await until(async () => (await service.metric("tidemark_broker_connections ")) === 1, {
      what: "Tidemark at the broker",
      timeoutMs: 40_000,
    });
  });
  test.after(async () => {
    await service.stop();
    await broker.stop();
    for (const dir of dirs) await dir.close();
  });

  const connect = (device: Rec | undefined, options: IClientOptions = {}): Promise<MqttClient> =>
    broker.connect({
      username: String(device?.deviceUsername),
      password: String(device?.token),
      protocolVersion: 5,
      ...options,
    });
  const isDenied = async (action: Promise<unknown>): Promise<boolean> =>
    action.then(
      () => false,
      () => true,
    );
  const up = (device: Rec | undefined, topic: string) => `devices/${device?.deviceID}/up/${topic}`;
  const down = (device: Rec | undefined, topic: string) => `devices/${device?.deviceID}/down/${topic}`;
  /** Only MQTT 5 reports a denied publication. */
  const mayPublish = async (client: MqttClient, topic: string) =>
    !(await isDenied(client.publishAsync(topic, "x", { qos: 1 })));
  const maySubscribe = async (client: MqttClient, filter: string): Promise<boolean> => {
    const granted = await client.subscribeAsync(filter, { qos: 1 }).catch(() => []);
    return granted.length > 0 && granted.every(({ qos }) => qos < 128);
  };

  test("a device enters with its token; not with another, not blocked, not unknown, not anonymous", async () => {
    await (await connect(plain)).endAsync();
    assert.ok(await isDenied(connect(plain, { password: "wrong" })));
    assert.ok(await isDenied(connect(plain, { password: "" })));
    assert.ok(await isDenied(connect(blocked)));
    assert.ok(await isDenied(connect({ id: 0, deviceUsername: "nobody", token: "x" })));
    assert.ok(await isDenied(broker.connect()));
  });

  test("it is confined to its own branch", async () => {
    const client = await connect(plain);
    assert.ok(await mayPublish(client, up(plain, "data")));
    assert.ok(await mayPublish(client, up(plain, "a/$b/c")));
    for (const topic of [
      up(other, "data"),
      down(plain, "inbox"),
      down(other, "inbox"),
      "x",
      `devices/${plain?.deviceID}`,
    ]) {
      assert.not.ok(await mayPublish(client, topic), topic);
    }
    assert.ok(await maySubscribe(client, down(plain, "#")));
    assert.ok(await maySubscribe(client, down(plain, "inbox")));
    for (const filter of [
      "#",
      "devices/#",
      "devices/+/down/#",
      down(other, "inbox"),
      up(plain, "#"),
      "$SYS/#",
    ]) {
      assert.not.ok(await maySubscribe(client, filter), filter);
    }
    assert.not.ok(await maySubscribe(client, "$share/tidemark/devices/+/up/#"), "Tidemark's share");
    assert.not.ok(await maySubscribe(client, `$share/x/${down(other, "#")}`));
    await client.endAsync();
  });

  test("policies hold: deny wins, an allow rule leaves nothing else, the inbox has two names", async () => {
    const client = await connect(ruled);
    assert.ok(await mayPublish(client, up(ruled, `of/${ruled?.deviceID}/x`)));
    for (const topic of ["data", "secret/x", `of/${ruled?.deviceID}/no`, "of/somebody/x"]) {
      assert.not.ok(await mayPublish(client, up(ruled, topic)), topic);
    }
    const got: string[] = [];
    client.on("message", (topic) => got.push(topic));
    assert.ok(await maySubscribe(client, down(ruled, "#")));
    const tidemark = await connect({ id: 0, deviceUsername: "tidemark", token: "secret-of-it" });
    const topics = ["inbox", `/devices/${ruled?.deviceID}/inbox`, "secret/a", "open", `/devices/x/inbox`];
    for (const topic of topics) await tidemark.publishAsync(down(ruled, topic), "x", { qos: 1 });
    await until(() => got.length >= 2, { what: "what may be heard" });
    assert.equal(got, [down(ruled, "open"), down(ruled, "/devices/x/inbox")]);
    assert.not.ok(await maySubscribe(tidemark, "#"));
    assert.not.ok(await mayPublish(tidemark, up(plain, "data")));
    await client.endAsync();
    await tidemark.endAsync();
  });

  test("messages come up, commands go down, with receipts", async () => {
    const device = need(plain);
    const client = await connect(plain);
    const sent = '{"n":5}';
    await client.publishAsync(up(plain, "data"), sent, { qos: 1 });
    // The broker's PUBACK does not say that Tidemark has it: messages of the tests before may still be on their way.
    await until(async () => (await payloadsOf(service, device)).includes(sent), { what: "the event" });
    const got: string[] = [];
    client.on("message", (topic, payload) => got.push(`${topic} ${payload}`));
    await client.subscribeAsync(down(plain, "#"), { qos: 1 });
    const command = await service.call("POST", "/api/v1/device_publish", {
      deviceID: device.deviceID,
      payload: "on",
    });
    assert.is(command.body.publishStatus, "successful", command.text);
    await until(() => got.length === 1, { what: "the command" });
    assert.equal(got, [`${down(plain, "inbox")} on`]);
    await client.endAsync();
  });

  test("a name that is another client's, a group's or a certificate's opens nothing for a device", async () => {
    assert.equal([...told.leftOut].sort(), ["admin", "app", "member", "tidemark", commonName].sort());
    for (const deviceUsername of told.leftOut) {
      assert.ok(await isDenied(connect({ id: 0, deviceUsername, token: "squatter" })), deviceUsername);
    }
    await (await connect(admin)).endAsync();
    const { clients } = JSON.parse(await readFile(file, "utf8")) as typeof there;
    const certified = clients.filter(({ username }) => username === commonName);
    assert.is(certified.length, 1);
    assert.is(certified[0]?.roles.length, 2, "its own branch, and no other");
  });

  test("a device named as the broker's placeholders is no other device, and a policy with one allows nothing", async () => {
    const victim = need(plain);
    assert.equal(
      told.unwritten.devices,
      posing.map((deviceID) => ({ deviceID, deviceUsername: `as ${deviceID}` })),
    );
    assert.equal(
      told.unwritten.policies.map(({ topic }) => topic),
      ["to/%c/#"],
    );
    for (const name of posing) {
      const poser = { id: 0, deviceUsername: `as ${name}`, token: "poser" };
      for (const clientId of [String(victim.deviceID), "x"]) {
        const entered = await connect(poser, { clientId }).catch(() => null);
        if (entered === null) continue;
        assert.not.ok(await mayPublish(entered, up(victim, "data")), `${name} says what ${clientId} says`);
        assert.not.ok(await maySubscribe(entered, down(victim, "#")), `${name} reads what ${clientId} reads`);
        await entered.endAsync();
      }
    }
    const client = await connect(
      { id: 0, deviceUsername: "policed", token: "policed" },
      { clientId: "mine" },
    );
    for (const topic of ["to/mine/x", "to/%c/x", "data"]) {
      assert.not.ok(await mayPublish(client, up(policed, topic)), topic);
    }
    await client.endAsync();
  });

  test("who used the broker before goes on as before: by its roles, its groups, the file's defaults", async () => {
    const client = await connect(app);
    const got: string[] = [];
    client.on("message", (topic) => got.push(topic));
    assert.ok(await maySubscribe(client, "app/#"));
    assert.ok(await mayPublish(client, "app/open"));
    assert.not.ok(await mayPublish(client, "app/closed/x"));
    await until(() => got.length === 1, { what: "its own message" });
    assert.equal(got, ["app/open"]);
    await client.endAsync();
    const whole = JSON.parse(await readFile(file, "utf8")) as typeof there;
    assert.equal(
      [whole.defaultACLAccess, whole.anonymousGroup],
      [there.defaultACLAccess, there.anonymousGroup],
    );
    assert.equal(whole.groups, there.groups);
  });

  test("written again it keeps what others have put there, and forgets devices that are gone", async () => {
    const gone = await service.call("DELETE", `/api/v1/devices?ids=${other?.id}`);
    assert.is(gone.status, 204, gone.text);
    const { stdout } = await run(process.execPath, [program, "mosquitto-config", file], { env: environment });
    const whole = JSON.parse(await readFile(file, "utf8")) as typeof there;
    const { clients, roles } = whole;
    assert.equal(JSON.parse(stdout), {
      file,
      clients: clients.length,
      roles: roles.length,
      leftOut: told.leftOut,
      unwritten: told.unwritten,
    });
    assert.is((await stat(file)).mode & 0o777, 0o640);
    assert.equal(
      (await readdir(dirs[0]?.path ?? "")).filter((name) => name.endsWith(".new")),
      [],
    );
    const names = whole.clients.map(({ username }) => username);
    assert.equal(new Set(names).size, names.length);
    assert.ok(names.includes("admin") && names.includes(String(plain?.deviceUsername)));
    assert.not.ok(names.includes(String(other?.deviceUsername)));
    assert.is(whole.roles.filter(({ rolename }) => rolename === "admin").length, 1);
  });

  test("without a service it reads the metadata itself; what is no file of the plugin stays as it is", async () => {
    await service.stop();
    const written = join(dirs[0]?.path ?? "", "new.json");
    await run(process.execPath, [program, "mosquitto-config", written], { env: environment });
    const whole = JSON.parse(await readFile(written, "utf8")) as typeof there;
    const names = whole.clients.map(({ username }) => username);
    assert.equal(
      names.sort(),
      [plain, ruled, blocked]
        .map((device) => String(device?.deviceUsername))
        .concat("tidemark", commonName, "admin", "app", "member", "policed")
        .sort(),
    );
    await writeFile(written, "not JSON");
    const failed = run(process.execPath, [program, "mosquitto-config", written], { env: environment });
    assert.match(
      await failed.then(String, ({ stderr }: { stderr: string }) => stderr),
      /cannot write .*new\.json/,
    );
    assert.is(await readFile(written, "utf8"), "not JSON");
    const { BROKER_PASSWORD: _, ...poor } = environment;
    const unnamed = run(process.execPath, [program, "mosquitto-config", written], { env: poor });
    assert.match(
      await unnamed.then(String, ({ stderr }: { stderr: string }) => stderr),
      /BROKER_PASSWORD must be set/,
    );
  });
});

/** A client that took them for its own names would be any device that it likes to be. */
const posing = ["%c", "%u"];

const passwordOf = (token: string) => {
  const salt = Buffer.from("twelve bytes");
  const hash = pbkdf2Sync(token, salt, 101, 64, "sha512");
  return { password: hash.toString("base64"), salt: salt.toString("base64"), iterations: 101 };
};

const admin = { id: 0, deviceUsername: "admin", token: "admins-own" };
const app = { id: 0, deviceUsername: "app", token: "apps-own" };

/** An operator's own settings, which the tool does not change; a client that no rule denies may do everything. */
const there = {
  defaultACLAccess: {
    publishClientSend: true,
    publishClientReceive: true,
    subscribe: true,
    unsubscribe: true,
  },
  anonymousGroup: "guests",
  clients: [
    { username: "admin", ...passwordOf(admin.token), roles: [{ rolename: "admin" }] },
    { username: "app", ...passwordOf(app.token), roles: [] as { rolename: string }[] },
  ],
  groups: [
    { groupname: "guests", roles: [], clients: [] },
    {
      groupname: "apps",
      roles: [{ rolename: "app" }],
      clients: [{ username: "app" }, { username: "member" }],
    },
  ],
  roles: [
    {
      rolename: "admin",
      acls: [
        { acltype: "publishClientSend", topic: "$CONTROL/dynamic-security/#", priority: 0, allow: true },
      ],
    },
    {
      rolename: "app",
      acls: [{ acltype: "publishClientSend", topic: "app/closed/#", priority: 0, allow: false }],
    },
  ],
};

/** What EMQX asks over HTTP: who may connect, and what may be done. */
import { createPrivateKey } from "node:crypto";
import { makeCert, makeDevice, makePolicy, makeProduct } from "../../../factories.js";
import { assert, until } from "../../../suite.js";
import { type Rec, refused, worldSuite } from "../../../world.js";

const own = { username: "tidemark", password: "a-password-of-its-own" };

worldSuite(
  "broker/auth and broker/acl",
  (test, world) => {
    let product: Rec;
    let device: Rec;
    test.before(async () => {
      product = await makeProduct(world);
    });
    test.before.each(async () => {
      device = await makeDevice(world, product);
    });

    let clients = 0;
    /** Another address each time: wrong credentials of one test must not slow down the next. */
    const peerhost = () => `192.0.2.${++clients % 250}`;
    const auth = async (body: object, options = {}): Promise<unknown> => {
      const reply = await world.call(
        "POST",
        "/api/v1/broker/auth",
        { peerhost: peerhost(), ...body },
        options,
      );
      assert.is(reply.status, 200, reply.text);
      assert.is(reply.record.is_superuser, false);
      return reply.record.result;
    };
    const acl = async (action: string, topic: unknown, of: Rec = device, options = {}): Promise<unknown> => {
      const body = { username: of.deviceUsername, clientid: "x", action, topic, qos: 1, retain: "false" };
      const reply = await world.call("POST", "/api/v1/broker/acl", body, options);
      assert.is(reply.status, 200, reply.text);
      return reply.record.result;
    };
    const credentials = (of: Rec = device) => ({
      username: of.deviceUsername,
      password: of.token,
      clientid: "c",
    });
    const up = (topic: string, of: Rec = device) => `devices/${of.deviceID}/up/${topic}`;
    const down = (topic: string, of: Rec = device) => `devices/${of.deviceID}/down/${topic}`;

    test("a device enters with its token and with nothing else", async () => {
      assert.is(await auth(credentials()), "allow");
      assert.is(await auth({ ...credentials(), cert_common_name: "undefined" }), "allow");
      for (const password of ["wrong", "", "undefined", null, undefined, 5]) {
        assert.is(await auth({ ...credentials(), password }), "deny", String(password));
      }
      for (const username of ["nobody", "", null, undefined, "\u0000", "x".repeat(5000)]) {
        assert.is(await auth({ ...credentials(), username }), "deny", String(username));
      }
      assert.is(await auth({}), "deny");
    });

    test("blocked and deleted devices are denied; their refusal is in the connect log", async () => {
      assert.is((await world.call("PUT", `/api/v1/devices/${device.id}`, { blocked: 1 })).status, 200);
      assert.is(await auth(credentials()), "deny");
      assert.is(await acl("publish", up("data")), "deny");
      const asB = { headers: { "Api-Variant": "B" } };
      const newest = async () => {
        const log = await world.call("GET", `/api/v1/devices/${device.id}/connect_logs`, undefined, asB);
        return log.page.items[0]?.deviceStatus;
      };
      await until(async () => (await newest()) === 2, { what: "the refusal in the connect log" });
      const other = await makeDevice(world, product);
      assert.is((await world.call("DELETE", `/api/v1/devices?ids=${other.id}`)).status, 204);
      assert.is(await auth(credentials(other)), "deny");
      assert.is(await acl("publish", up("data", other), other), "deny");
    });

    test("guessing is slowed down by the client's address in the body", async () => {
      const from = (address: string, password: unknown) =>
        auth({ ...credentials(), password, peerhost: address });
      for (let i = 0; i < 10; i++) assert.is(await from("198.51.100.1", `guess ${i}`), "deny");
      assert.is(await from("198.51.100.1", device.token), "deny", "it has to wait");
      assert.is(await from("198.51.100.2", device.token), "allow", "others do not");
    });

    test("a tenant's wrong guesses slow down neither another's devices here nor at the listeners", async () => {
      const key = await world.otherTenant();
      const address = "127.0.0.1";
      const guess = () => auth({ ...credentials(), password: "wrong", peerhost: address }, { key });
      for (let i = 0; i < 12; i++) assert.is(await guess(), "deny");
      assert.is(await auth({ ...credentials(), peerhost: address }), "allow");
      await (await world.connect(device)).endAsync();
    });

    test("a certificate that the broker has verified opens for the device it is bound to", async () => {
      const bearer = await makeDevice(world, product, { authType: 2 });
      const cert = await makeCert(world);
      assert.ok(createPrivateKey(String(cert.key)));
      const name = { username: bearer.deviceUsername, cert_common_name: cert.CN };
      assert.is(await auth(name), "deny", "not bound");
      const bound = await world.call("POST", `/api/v1/devices/${bearer.id}/certs`, { ids: [cert.id] });
      assert.is(bound.status, 201, bound.text);
      assert.is(await auth(name), "allow");
      assert.is(await auth({ username: bearer.deviceUsername, password: bearer.token }), "deny", "no token");
      assert.is(await auth({ ...name, username: device.deviceUsername }), "deny", "another's");
      assert.is((await world.call("PUT", `/api/v1/certs/${cert.id}`, { enable: 0 })).status, 200);
      assert.is(await auth(name), "deny", "disabled");
      assert.is(await auth({ ...name, cert_common_name: "nobody" }), "deny");
    });

    test("each device is confined to its own branch", async () => {
      const other = await makeDevice(world, product);
      for (const topic of [up("data"), up("a/b/c"), up("$x"), up("/")]) {
        assert.is(await acl("publish", topic), "allow", topic);
        assert.is(await acl("subscribe", topic), "deny", topic);
      }
      for (const filter of [down("inbox"), down("#"), down("+/x"), down("/groups/g/inbox")]) {
        assert.is(await acl("subscribe", filter), "allow", filter);
        assert.is(await acl("publish", filter), "deny", filter);
      }
      const outside = [
        ...[
          up("data", other),
          `devices/${device.deviceID}`,
          up(""),
          up("#"),
          up("a/+"),
          "data",
          "#",
          "",
          null,
          7,
        ],
        ...[
          `devices/${device.deviceID}x/up/data`,
          `/devices/${device.deviceID}/up/data`,
          "$SYS/x",
          "devices/+/up/x",
        ],
      ];
      for (const topic of outside) assert.is(await acl("publish", topic), "deny", String(topic));
      for (const filter of [
        down("#", other),
        "devices/+/down/#",
        "devices/#",
        "#",
        "$share/g/#",
        down("a#"),
        down(""),
      ]) {
        assert.is(await acl("subscribe", filter), "deny", filter);
      }
      assert.is(await acl("subscribe", `$share/g/${down("#")}`), "deny");
      for (const action of ["", "all", "PUBLISH", null])
        assert.is(await acl(action as string, up("data")), "deny");
    });

    test("policies hold", async () => {
      const bind = async (fields: Readonly<Record<string, unknown>>) => {
        const policy = await makePolicy(world, fields);
        const bound = await world.call("POST", `/api/v1/devices/${device.id}/policies`, { ids: [policy.id] });
        assert.is(bound.status, 201, bound.text);
      };
      await bind({ topic: "secret/#", access: 2, allow: 0 });
      assert.is(await acl("publish", up("secret/x")), "deny");
      assert.is(await acl("subscribe", down("secret/#")), "deny");
      assert.is(await acl("subscribe", down("#")), "allow", "what is sent there is looked at again");
      await bind({ topic: "of/%d/+", access: 0, allow: 1 });
      assert.is(await acl("publish", up("data")), "deny");
      assert.is(await acl("publish", up(`of/${device.deviceID}/x`)), "allow");
    });

    test("Tidemark enters as itself, and reads and writes what it has to", async () => {
      assert.is(await auth(own), "allow");
      assert.is(await auth({ ...own, password: "wrong" }), "deny");
      const may = (action: string, topic: string) =>
        acl(action, topic, { id: 0, deviceUsername: own.username });
      for (const filter of ["$share/tidemark/devices/+/up/#", "devices/+/up/#"]) {
        assert.is(await may("subscribe", filter), "allow");
      }
      assert.is(await may("publish", down("inbox")), "allow");
      for (const [action, topic] of [
        ...[
          ["subscribe", "#"],
          ["publish", up("data")],
          ["publish", "devices/+/down/x"],
        ],
        ...[
          ["publish", "devices//down/x"],
          ["publish", "x"],
        ],
      ] as const) {
        assert.is(await may(action, topic), "deny", topic);
      }
    });

    test("other tenants: their own devices only, and Tidemark is nobody to them", async () => {
      const key = await world.otherTenant();
      assert.is(await auth(credentials(), { key }), "deny");
      assert.is(await auth(own, { key }), "deny");
      assert.is(await acl("publish", up("data"), device, { key }), "deny");
    });

    test("a key is needed, and a role that may command", async () => {
      for (const path of ["/api/v1/broker/auth", "/api/v1/broker/acl"]) {
        refused(await world.call("POST", path, credentials(), { key: null }), "AUTH_FAILED");
        const viewer = await world.keyOf("viewer");
        refused(await world.call("POST", path, credentials(), { key: viewer }), "PERMISSION_DENIED");
        const operator = await world.keyOf("operator");
        assert.is((await world.call("POST", path, credentials(), { key: operator })).status, 200);
        refused(await world.call("POST", path, { username: { a: 1 } }), "PARAMETER_INVALID", "username");
        refused(await world.call("POST", path, "{"), "BAD_REQUEST");
      }
    });

    test("Mosquitto's file is for the deployment's admin alone", async () => {
      const path = "/api/v1/broker/mosquitto";
      refused(
        await world.call("GET", path, undefined, { key: await world.keyOf("operator") }),
        "PERMISSION_DENIED",
      );
      refused(
        await world.call("GET", path, undefined, { key: await world.otherTenant() }),
        "PERMISSION_DENIED",
      );
      const { text } = await world.call("GET", path);
      assert.not.ok(text.includes(String(device.token)));
      assert.ok(text.includes(`devices/${device.deviceID}/up/#`));
    });
  },
  // Nobody listens there: what is asked of us does not depend on it.
  {
    BROKER_URL: "mqtt://127.0.0.1:9",
    BROKER_USERNAME: own.username,
    BROKER_PASSWORD: own.password,
  },
);

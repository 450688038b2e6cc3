import { Webhook } from "standardwebhooks";
import { makeDevice, makeProduct } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { type Hook, openHook, openMailServer, openSilent } from "./receivers.js";
import { contactBody, logOf, makeAlerting, makeContact, type Told, testContact } from "./support.js";

const secret = `whsec_${Buffer.from("a secret of twenty-four b").toString("base64")}`;

/** The text of a mail, as its encoding says. */
function bodyOf(mail: string): string {
  const at = mail.indexOf("\r\n\r\n");
  const [head, body] = [mail.slice(0, at), mail.slice(at + 4)];
  if (/^Content-Transfer-Encoding: base64/im.test(head)) return Buffer.from(body, "base64").toString();
  const bytes = body
    .replaceAll("=\r\n", "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

worldSuite(
  "notifications are delivered",
  (test, world) => {
    let hook: Hook;
    test.before.each(async () => {
      hook = await openHook();
    });
    test.after.each(() => hook.close());

    const contactOf = (type: string, settings: object, fields: object = {}) =>
      makeContact(world, type, settings, fields);
    const told = (at: number): Told => JSON.parse(hook.received[at]?.body ?? "{}") as Told;
    const log = (contact: Rec) => logOf(world, contact);

    test("a webhook receives that an alert began and ended, signed as Standard Webhooks says", async () => {
      const contact = await contactOf("webhook", { url: `${hook.url}/alerts?token=abc`, secret });
      const { device, rule } = await makeAlerting(world, contact);
      await world.publish(device, { temp: 51 });
      await until(() => hook.received.length === 1, { what: "message 1 to the webhook" });
      const [first] = hook.received;
      assert.is(first?.path, "/alerts?token=abc");
      const verified = new Webhook(secret).verify(
        first?.body ?? "",
        first?.headers as Record<string, string>,
      );
      assert.equal(verified, told(0));
      assert.is(told(0).status, "firing");
      assert.is(told(0).subject, `[Alert] ${rule.alertName}: ${device.deviceName}`);
      assert.equal(
        told(0).alerts.map(({ deviceName, status, severity }) => [deviceName, status, severity]),
        [[device.deviceName, "firing", "major"]],
      );
      await world.publish(device, { temp: 20 });
      world.clock.pass(10_000);
      await until(() => hook.received.length === 2, { what: "message 2 to the webhook" });
      assert.is(told(1).status, "resolved");
      assert.is(told(1).firing, 0);
      await until(async () => (await log(contact)).every(({ status }) => status === "delivered"), {
        what: "both in the log",
      });
      const [newest] = await log(contact);
      assert.is(newest?.answer, "200 OK thanks");
      assert.is(newest?.attempts, 1);
    });

    test("an e-mail goes out by SMTP with its log in, in the language of the contact point", async () => {
      const logins: string[] = [];
      const mail = await openMailServer({
        disabledCommands: ["STARTTLS"],
        onAuth: ({ username, password }, _session, done) => {
          logins.push(`${username} ${password}`);
          done(null, { user: username });
        },
      });
      const server = { host: "127.0.0.1", port: mail.port, security: "none", username: "me" };
      const settings = {
        to: ["a@example.com", "b@example.com"],
        from: "Tidemark <t@example.com>",
        server,
        password: "pw-1",
      };
      const contact = await contactOf("email", settings, { language: "zh" });
      assert.equal(contact.secrets, ["password"]);
      const { device } = await makeAlerting(world, contact);
      await world.publish(device, { temp: 51 });
      await until(() => mail.mails.length === 1, { what: "the mail" });
      const [got] = mail.mails;
      assert.equal(logins, ["me pw-1"]);
      assert.equal([got?.from, ...(got?.to ?? [])], ["t@example.com", "a@example.com", "b@example.com"]);
      assert.match(got?.text ?? "", /^Auto-Submitted: auto-generated\r$/m);
      assert.match(bodyOf(got?.text ?? ""), `设备 ${device.deviceName}`);
      await until(async () => (await log(contact))[0]?.status === "delivered", {
        what: "its delivery in the log",
      });
      assert.match(String((await log(contact))[0]?.answer), "2.0.0 kept");
      await mail.close();
    });

    test("a device gets the message as a command, with a receipt", async () => {
      const product = await makeProduct(world);
      const siren = await makeDevice(world, product);
      const client = await world.connect(siren);
      const got: string[] = [];
      client.on("message", (_topic, payload) => got.push(payload.toString()));
      await client.subscribeAsync("alarm/on", { qos: 1 });
      const settings = { deviceIntID: siren.id, topic: "alarm/on" };
      const contact = await contactOf("mqtt", settings, {
        bodyTemplate: "{{ status }} {{ alerts[0].deviceName }}",
      });
      const { device } = await makeAlerting(world, contact);
      await world.publish(device, { temp: 51 });
      await until(() => got.length === 1, { what: "the command" });
      assert.equal(got, [`firing ${device.deviceName}`]);
      await until(async () => (await log(contact))[0]?.status === "delivered", {
        what: "its delivery in the log",
      });
      const receipt = async () =>
        (await world.call("GET", `/api/v1/devices/${siren.id}/control_logs`)).page.items[0]?.publishStatus;
      await until(async () => (await receipt()) === 2, { what: "the receipt" });
      await client.endAsync();
    });

    test("what cannot be delivered now is tried again; what is refused is not", async () => {
      const contact = await contactOf("webhook", { url: hook.url });
      const { device } = await makeAlerting(world, contact);
      hook.answer = (response) => response.writeHead(503).end("later");
      await world.publish(device, { temp: 51 });
      await until(async () => (await log(contact))[0]?.attempts === 1, { what: "the first attempt" });
      const [waiting] = await log(contact);
      assert.is(waiting?.status, "waiting");
      assert.is(waiting?.answer, "503 Service Unavailable later");
      hook.answer = (response) => response.writeHead(204).end();
      world.clock.pass(6000);
      await until(async () => (await log(contact))[0]?.status === "delivered", {
        what: "its delivery in the log",
      });
      assert.is(hook.received[0]?.headers["webhook-id"], hook.received[1]?.headers["webhook-id"]);
      assert.is(hook.received[0]?.body, hook.received[1]?.body);

      hook.answer = (response) => response.writeHead(410).end("gone");
      await world.publish(device, { temp: 20 });
      world.clock.pass(10_000);
      await until(
        async () => (await log(contact)).length === 2 && (await log(contact))[0]?.status === "failed",
        { what: "the refusal in the log" },
      );
      assert.is((await log(contact))[0]?.answer, "410 Gone gone");
    });

    test("a redirect is not followed", async () => {
      const contact = await contactOf("webhook", { url: hook.url });
      hook.answer = (response) => response.writeHead(307, { Location: `${hook.url}/elsewhere` }).end();
      const { record } = await testContact(world, contact);
      assert.is(record.delivered, false);
      assert.match(String(record.answer), "redirects are not followed");
      assert.equal(
        hook.received.map(({ path }) => path),
        ["/"],
      );
    });

    test("a test is sent at once, answered with what the other side said, and in the log", async () => {
      const contact = await contactOf("webhook", { url: hook.url });
      const { status, record } = await testContact(world, contact);
      assert.is(status, 200);
      assert.equal([record.delivered, record.answer], [true, "200 OK thanks"]);
      assert.is(told(0).kind, "test");
      const { record: logged } = await world.call("GET", `/api/v1/notifications/${record.id}`);
      assert.equal([logged.kind, logged.status], ["test", "delivered"]);
      assert.is((logged.message as Told).kind, "test");
    });

    test("mail is not sent in the clear where TLS is required, and a refused recipient is reported", async () => {
      const mail = await openMailServer({
        authOptional: true,
        onRcptTo: ({ address }, _session, done) =>
          done(
            address.startsWith("no") ? Object.assign(new Error("no such user"), { responseCode: 550 }) : null,
          ),
      });
      const server = { host: "127.0.0.1", port: mail.port };
      const secure = await contactOf("email", { to: ["a@example.com"], server });
      const answer = String((await testContact(world, secure)).record.answer);
      // The certificate of the test's server is signed by nobody.
      assert.match(answer, /certificate/i, answer);
      const settings = { to: ["no@example.com"], server: { ...server, security: "none" } };
      const { record } = await testContact(world, await contactOf("email", settings));
      assert.match(String(record.answer), "no such user");
      const both = { to: ["no@example.com", "yes@example.com"], server: { ...server, security: "none" } };
      const partly = (await testContact(world, await contactOf("email", both))).record;
      assert.is(partly.delivered, true);
      assert.match(String(partly.answer), "refused for no@example.com");
      assert.equal(
        mail.mails.map(({ to }) => to),
        [["yes@example.com"]],
      );
      await mail.close();
    });

    test("another broker takes a message, with its log in, or says why not", async () => {
      const device = await makeDevice(world, await makeProduct(world));
      const settings = {
        url: world.mqtt,
        topic: "alerts",
        username: device.deviceUsername,
        password: device.token,
      };
      const contact = await contactOf("mqtt", settings);
      const { record } = await testContact(world, contact);
      assert.equal([record.delivered, record.answer], [true, "acknowledged by PUBACK"]);
      await world.settled();
      const { items } = (await world.call("GET", `/api/v1/devices/${device.id}/events`)).page;
      assert.is(items[0]?.topic, "alerts");
      assert.is(JSON.parse(String(items[0]?.payload_string ?? items[0]?.payload)).kind, "test");
      const wrong = await contactOf("mqtt", { ...settings, password: "wrong" });
      assert.match(String((await testContact(world, wrong)).record.answer), /refused|authorized/i);
    });

    test("a target that hangs, closes early or answers nonsense is reported as such, and holds up nobody", async () => {
      const hanging = await openSilent(() => undefined);
      const closing = await openSilent((socket) => socket.destroy());
      const babbling = await openSilent((socket) => socket.end("220 smtp\r\n"));
      const at = (port: number) => `http://127.0.0.1:${port}/`;
      const slow = testContact(world, await contactOf("webhook", { url: at(hanging.port) }));
      const mailServer = { host: "127.0.0.1", port: hanging.port, security: "none" };
      const slowMail = testContact(world, await contactOf("email", { to: ["a@b.c"], server: mailServer }));
      const slowBroker = testContact(
        world,
        await contactOf("mqtt", { url: `mqtt://127.0.0.1:${hanging.port}`, topic: "t" }),
      );
      const early = await testContact(world, await contactOf("webhook", { url: at(closing.port) }));
      assert.match(String(early.record.answer), /socket hang up|ECONNRESET/);
      const nonsense = await testContact(world, await contactOf("webhook", { url: at(babbling.port) }));
      assert.match(String(nonsense.record.answer), "Parse Error");
      const broker = await contactOf("mqtt", { url: `mqtt://127.0.0.1:${closing.port}`, topic: "t" });
      assert.match(
        String((await testContact(world, broker)).record.answer),
        /closed the connection|ECONNRESET/,
      );
      const nobody = await contactOf("webhook", { url: "http://127.0.0.1:1/" });
      assert.match(String((await testContact(world, nobody)).record.answer), "ECONNREFUSED");
      // Another contact point receives its message while these hang.
      assert.is(
        (await testContact(world, await contactOf("webhook", { url: hook.url }))).record.delivered,
        true,
      );
      assert.is((await slow).record.answer, "no answer within 15 seconds");
      assert.is((await slowBroker).record.answer, "no answer within 15 seconds");
      assert.is((await slowMail).record.answer, "no answer within 15 seconds");
      await Promise.all([hanging.close(), closing.close(), babbling.close()]);
    });

    test("tests of a tenant that hang have a bound, which is no other tenant's", async () => {
      const hanging = await openSilent(() => undefined);
      const settings = { url: `http://127.0.0.1:${hanging.port}/` };
      const contact = await contactOf("webhook", settings);
      // One more than there may be: whichever comes last is refused, while the others wait for the target.
      const waiting = Array.from({ length: 9 }, () => testContact(world, contact));
      assert.is((await Promise.race(waiting)).status, 429);
      const key = await world.otherTenant();
      const other = await world.make("/api/v1/contact_points", contactBody("webhook", { url: hook.url }), {
        key,
      });
      const { record } = await world.call("POST", `/api/v1/contact_points/${other.id}/test`, undefined, {
        key,
      });
      assert.is(record.delivered, true);
      await hanging.close();
      const statuses = (await Promise.all(waiting)).map(({ status }) => status);
      assert.equal(statuses.sort(), [...Array.from({ length: 8 }, () => 200), 429]);
    });

    test("an answer is read as far as its first 4 KiB, and kept as one line of 1,000 characters", async () => {
      const contact = await contactOf("webhook", { url: hook.url });
      hook.answer = (response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(`\u001b[31m${"x".repeat(8000)}\r\n`), 1);
        response.on("close", () => clearInterval(timer));
      };
      const { record } = await testContact(world, contact);
      assert.is(record.delivered, true);
      assert.is(String(record.answer).length, 1000);
      assert.match(String(record.answer), /^200 OK {1,2}\[31mx+$/);
    });

    test("no secret is ever answered, and none goes to another address", async () => {
      const url = `${hook.url}/T0000/B0000`;
      const contact = await contactOf("webhook", {
        url,
        secret,
        authorization: "Bearer xyz",
        headers: { "X-Key": "hush" },
      });
      const path = `/api/v1/contact_points/${contact.id}`;
      assert.equal(contact.secrets, ["url", "secret", "authorization", "headers"]);
      assert.equal(contact.settings, { contentType: "application/json", address: hook.url });
      for (const where of [path, "/api/v1/contact_points", "/api/v1/changes?_limit=20"]) {
        const { text } = await world.call("GET", where);
        for (const hidden of ["T0000", secret, "xyz", "hush"]) assert.not.match(text, hidden);
      }
      for (const other of ["http://127.0.0.2:9/", `${hook.url}/T0000/other`, `${url}?to=me`]) {
        const moved = await world.call("PUT", path, { settings: { url: other } });
        refused(moved, "PARAMETER_INVALID");
        assert.equal(Object.keys(moved.failure.errors), [
          "settings.secret",
          "settings.authorization",
          "settings.headers",
        ]);
      }
      assert.is((await world.call("PUT", path, { settings: { url } })).status, 200);
      const edited = await world.call("PUT", path, { settings: { authorization: null } });
      assert.equal((edited.record.secrets as string[]).toSorted(), ["headers", "secret", "url"]);
      await world.call("POST", `${path}/test`);
      const { headers } = hook.received[0] as (typeof hook.received)[number];
      assert.equal([headers["x-key"], headers.authorization], ["hush", undefined]);
    });

    test("a password goes to another server or under another name only if it is given again", async () => {
      const server = { host: "mail.example.com", port: 465, security: "tls", username: "me" };
      const mail = { to: ["a@example.com"], server };
      const broker = { url: "mqtts://broker.example.com", topic: "t", username: "me" };
      const others = [
        ["email", mail, { ...mail, server: { ...server, host: "mail.example.org" } }],
        ["email", mail, { ...mail, server: { ...server, port: 466 } }],
        ["email", mail, { ...mail, server: { ...server, security: "none" } }],
        ["email", mail, { ...mail, server: { ...server, username: "you" } }],
        ["mqtt", broker, { ...broker, url: "mqtt://broker.example.com" }],
        ["mqtt", broker, { ...broker, username: "you" }],
      ] as const;
      for (const [type, settings, other] of others) {
        const { id } = await contactOf(type, { ...settings, password: "pass" });
        const path = `/api/v1/contact_points/${id}`;
        refused(await world.call("PUT", path, { settings: other }), "PARAMETER_INVALID", "settings.password");
        assert.equal((await world.call("PUT", path, { settings })).record.secrets, ["password"]);
        const given = { settings: { ...other, password: "pass" } };
        assert.is((await world.call("PUT", path, given)).status, 200);
      }
    });

    test("a receiver that echoes what it gets brings no secret into the log", async () => {
      const url = `${hook.url}/T0000/B0000?token=q%20uery`;
      const settings = { url, authorization: "Bearer top-secret", headers: { "X-Key": "hush+hush" } };
      const contact = await contactOf("webhook", settings);
      hook.answer = (response, { path, headers }) =>
        response.writeHead(500).end(JSON.stringify({ path, headers, basic: btoa("me:top-secret") }));
      const { record } = await testContact(world, contact);
      const { text } = await world.call("GET", `/api/v1/notifications/${record.id}`);
      for (const answer of [String(record.answer), text]) {
        assert.match(answer, "***");
        for (const hidden of ["T0000", "q%20uery", "top-secret", "hush+hush", "dG9wLXN"]) {
          assert.not.match(answer, hidden);
        }
      }
      assert.match(String(record.answer), /^500 Internal Server Error/);
    });
  },
  { NOTIFY_PRIVATE_ADDRESSES: "127.0.0.0/8" },
);

worldSuite("notifications stay outside the service's network", (test, world) => {
  const answerOf = async (type: string, settings: object): Promise<string> => {
    const contact = await world.make("/api/v1/contact_points", contactBody(type, settings));
    const { record } = await testContact(world, contact);
    assert.is(record.delivered, false);
    return String(record.answer);
  };

  test("an address that is not public is not reached, however it is written", async () => {
    const hosts = [
      ...["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0", "[::]"],
      ...["10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "[fd00::1]", "[fe80::1]"],
      ...["[64:ff9b::7f00:1]", "[2002:7f00:1::]", "224.0.0.1", "255.255.255.255"],
    ];
    const { port } = new URL(world.http);
    for (const host of hosts) {
      assert.match(
        await answerOf("webhook", { url: `http://${host}:${port}/healthz` }),
        "has no public address",
        host,
      );
    }
    const server = { host: "127.0.0.1", port: 25, security: "none" };
    assert.match(await answerOf("email", { to: ["a@b.c"], server }), "has no public address");
    assert.match(await answerOf("mqtt", { url: "mqtt://127.0.0.1", topic: "t" }), "has no public address");
  });

  test("without a mail server of its own or of the deployment, mail is refused with the reason", async () => {
    assert.match(
      await answerOf("email", { to: ["a@b.c"] }),
      "neither the contact point nor SMTP_URL names one",
    );
  });
});

import { makeDevice, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/contact_points";
const form = [
  ...["id", "name", "type", "enable", "language", "settings", "secrets", "subjectTemplate", "bodyTemplate"],
  ...["createUser", "createAt", "updateAt"],
];
const body = (settings: object, type = "webhook") => ({ name: unique("contact"), type, settings });
const hook = { url: "https://hooks.example.com/a" };

worldSuite("contact points", (test, world) => {
  testResource(test, world, {
    path,
    body: async () => body(hook),
    required: ["name", "type"],
    optional: { subjectTemplate: "{{ status }}", bodyTemplate: "{{ text }}" },
    fixed: { type: "email" },
    name: "name",
    keys: { stored: form, detail: form, listed: form },
  });

  const wrong = async (settings: object, field: string, type = "webhook") =>
    refused(await world.call("POST", path, body(settings, type)), "PARAMETER_INVALID", `settings.${field}`);

  test("settings are checked by type, and a wrong one is named", async () => {
    await wrong({}, "url");
    for (const url of ["", "x", "ftp://a", "http://u:p@a", "http://", `https://a/${"x".repeat(2048)}`]) {
      await wrong({ url }, "url");
    }
    await wrong({ ...hook, secret: "short" }, "secret");
    await wrong({ ...hook, contentType: "text/plain\r\nX: y" }, "contentType");
    for (const name of ["Host", "content-length", "webhook-id", "a b", "x:y", "Authorization", ""]) {
      await wrong({ ...hook, headers: { [name]: "v" } }, `headers.${name}`);
    }
    await wrong({ ...hook, headers: { "X-A": "a\r\nb" } }, "headers.X-A");
    await wrong({ to: [] }, "to", "email");
    for (const address of [
      ...[
        "a",
        "a@",
        "a@b>, c@d",
        "a@b\r\nRCPT TO:<x@y>",
        "<a@b>",
        "a:b@c.example",
        "a:b@c.example;",
        "a(x)@b.c",
      ],
      ...[
        "a@b@c",
        "a..b@c",
        ".a@c",
        "a@b..c",
        "a@b(x)",
        "a\\@b",
        "a@[x",
        `${"a".repeat(65)}@b.c`,
        "a@b:c",
        "[a]@b",
      ],
    ]) {
      await wrong({ to: [address] }, "to.0", "email");
    }
    await wrong({ to: ["a@b.c"], from: "x\r\nBcc: y@z" }, "from", "email");
    const server = { host: "mail.example.com", port: 465, security: "tls" };
    await wrong({ to: ["a@b.c"], server: { ...server, security: "maybe" } }, "server.security", "email");
    await wrong({ to: ["a@b.c"], server: { ...server, host: "a b" } }, "server.host", "email");
    for (const url of ["http://a", "mqtt://u:p@a", "mqtt://a/b", "mqtt://"]) {
      await wrong({ url, topic: "t" }, "url", "mqtt");
    }
    await wrong({ url: "mqtt://a", topic: "a/#" }, "topic", "mqtt");
    await wrong({ deviceIntID: 999_999, topic: "t" }, "deviceIntID", "mqtt");
  });

  test("a device of another tenant is none", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const key = await world.otherTenant();
    const settings = { deviceIntID: device.id, topic: "t" };
    const reply = await world.call("POST", path, body(settings, "mqtt"), { key });
    refused(reply, "PARAMETER_INVALID", "settings.deviceIntID");
  });

  test("another tenant neither reads, edits, tests nor routes to it", async () => {
    const { id } = await world.make(path, body(hook));
    const key = await world.otherTenant();
    refused(await world.call("GET", `${path}/${id}`, undefined, { key }), "DATA_NOT_FOUND");
    refused(await world.call("PUT", `${path}/${id}`, { name: "x" }, { key }), "DATA_NOT_FOUND");
    refused(await world.call("POST", `${path}/${id}/test`, undefined, { key }), "DATA_NOT_FOUND");
    const route = { name: unique("route"), contactPoints: [id] };
    const reply = await world.call("POST", "/api/v1/alert_routes", route, { key });
    refused(reply, "PARAMETER_INVALID", "contactPoints");
  });

  test("one that a route names is not deleted, and the route is named", async () => {
    const contact = await world.make(path, body(hook));
    const route = await world.make("/api/v1/alert_routes", {
      name: unique("route"),
      contactPoints: [contact.id],
    });
    const reply = await world.call("DELETE", `${path}?ids=${contact.id}`);
    refused(reply, "REFERENCED_ERROR", "alert_routes");
    assert.equal(reply.failure.errors, {
      alert_routes: `1 alert route refers to it: ${route.id} "${route.name}"`,
    });
    await world.call("DELETE", `/api/v1/alert_routes?ids=${route.id}`);
    assert.is((await world.call("DELETE", `${path}?ids=${contact.id}`)).status, 204);
  });

  const preview = (fields: object) => world.call("POST", `${path}/preview`, { type: "webhook", ...fields });

  test("a preview shows the built-in texts in both languages", async () => {
    const english = (await preview({ type: "email", language: "en" })).record;
    assert.match(
      String(english.body),
      /Alert \[major\] .*\n {2}temperature > 40\n {2}device Boiler 7 \(boiler-7\)/,
    );
    assert.match(String(english.body), "Resolved [major]");
    const chinese = (await preview({ type: "email" })).record;
    assert.match(String(chinese.body), "新增 1，恢复 1，当前 1");
    assert.match(String(chinese.subject), "[告警]");
    const document = JSON.parse(String((await preview({})).record.body)) as Rec;
    assert.equal([document.status, (document.alerts as object[]).length], ["firing", 2]);
  });

  test("a template may use what the document has, and nothing else", async () => {
    const bodyTemplate =
      "{% for a in alerts %}{{ a.deviceID | upcase }} {{ a.startTime | date: '%Y' }};{% endfor %}";
    const { body: text } = (await preview({ bodyTemplate })).record;
    assert.match(String(text), /^(BOILER-7 20\d\d;){2}$/);
    const hidden = "{{ constructor }}{{ __proto__ }}{{ alerts.constructor }}{{ process }}|";
    assert.is((await preview({ bodyTemplate: hidden })).record.body, "|");
    for (const file of ["{% include '/etc/passwd' %}", "{% render 'x' %}", "{% layout '/etc/hosts' %}"]) {
      refused(await preview({ bodyTemplate: file }), "PARAMETER_INVALID", "bodyTemplate");
    }
    refused(await preview({ bodyTemplate: "{% for %}" }), "PARAMETER_INVALID", "bodyTemplate");
    refused(await preview({ subjectTemplate: "{{ 'a' | nosuch: }" }), "PARAMETER_INVALID", "subjectTemplate");
  });

  test("a template that computes without end or makes too much is stopped, and others are served", async () => {
    const nested =
      "{% for a in (1..9999) %}{% for b in (1..9999) %}{% for c in (1..9999) %}{% endfor %}{% endfor %}{% endfor %}";
    const doubling = `{% assign s = "xxxxxxxxxx" %}${"{% assign s = s | append: s %}".repeat(40)}{{ s }}`;
    const long = `{% for a in (1..9000) %}0123456789{% endfor %}`;
    // liquidjs charges nothing for captures; V8 once ended the process at the last of them.
    const captures = `{% capture s %}0123456789{% endcapture %}${"{% capture s %}{{ s }}{{ s }}{% endcapture %}".repeat(24)}`;
    const other = await world.otherTenant();
    const [first, second, third, fourth, neighbour] = await Promise.all([
      preview({ bodyTemplate: `${captures}{{ s | replace: '0', '00' | size }}` }),
      preview({ bodyTemplate: nested }),
      preview({ bodyTemplate: doubling }),
      preview({ bodyTemplate: long }),
      world.call(
        "POST",
        `${path}/preview`,
        { type: "webhook", bodyTemplate: "{{ status }}" },
        { key: other },
      ),
    ]);
    for (const reply of [first, second, third, fourth]) refused(reply, "PARAMETER_INVALID", "bodyTemplate");
    assert.match(String(first.failure.errors?.bodyTemplate), "takes more than 32 MiB of memory");
    assert.is(neighbour.record.body, "firing");
  });

  test("a preview that searches for minutes in one step ends after two seconds", async () => {
    const doubled = `{% capture s %}0123456789abcdef{% endcapture %}${"{% capture s %}{{ s }}{{ s }}{% endcapture %}".repeat(16)}`;
    const search = "{% capture t %}{{ s | slice: 0, 500000 }}x{% endcapture %}{{ s | split: t | size }}";
    const reply = await preview({ bodyTemplate: `${doubled}${search}` });
    refused(reply, "PARAMETER_INVALID", "bodyTemplate");
    assert.match(String(reply.failure.errors?.bodyTemplate), "takes more than 2 seconds");
  });
});

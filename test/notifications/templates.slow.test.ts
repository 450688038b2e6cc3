/** Templates of tenants, in their thread. */
import { on } from "node:events";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { sampleMessage } from "../../src/notifications/alert-message.js";
import { messageDocument } from "../../src/notifications/message-texts.js";
import { sendMessage } from "../../src/notifications/send-message.js";
import {
  createTemplateRenderer,
  previewMsMax,
  renderMsMax,
  TemplateError,
  type TemplateRenderer,
} from "../../src/notifications/templates.js";
import { repositoryRoot } from "../repository.js";
import { assert, rejects, suite, withTempDir } from "../suite.js";
import { contactPoint, delivering } from "./senders.js";

/** Sixteen characters, doubled by captures, which liquidjs itself charges for nothing. */
const doubled = (times: number): string =>
  `{% capture s %}0123456789abcdef{% endcapture %}${"{% capture s %}{{ s }}{{ s }}{% endcapture %}".repeat(times)}`;

/** Ended V8 with "Fatal JavaScript invalid size error", and with it the process. */
const bomb = `${doubled(24)}{{ s | replace: '0', '00' | size }}`;
/** Each step of the engine is a search that takes minutes. */
const endless = `${doubled(16)}{% capture t %}{{ s | slice: 0, 500000 }}x{% endcapture %}{{ s | split: t | size }}`;
const nested = (depth: number): string => "{% if true %}".repeat(depth) + "{% endif %}".repeat(depth);
const loop = (variable: string, inner: string): string =>
  `{% for ${variable} in (1..9999) %}${inner}{% endfor %}`;

const attacks: readonly (readonly [what: string, template: string, reason: RegExp])[] = [
  ["doubled captures", bomb, /takes more than 32 MiB of memory/],
  ["loops in loops", loop("a", loop("b", loop("c", "{% assign x = a %}"))), /computes too long/],
  ["a range of all numbers", "{% for i in (1..99999999999) %}{% endfor %}", /memory|computes too long/],
  [
    "a list that doubles",
    `{% assign a = alerts %}{% for i in (1..40) %}{% assign a = a | concat: a %}{% endfor %}`,
    /memory/,
  ],
  ["a wide date", "{{ 'now' | date: '%999999999d' }}", /memory/],
  ["tags in tags", nested(1200), /stack|nests too deeply/],
  ["an index of an index", `{{ ${"a[".repeat(3000)}0${"]".repeat(3000)} }}`, /stack|nests too deeply/],
  ["a long text to hash", `${doubled(18)}{{ s | sha256 }}`, /takes texts of at most/],
  [
    "hashes without end",
    `${doubled(10)}${loop("i", loop("j", "{{ s | sha256 }}"))}`,
    /computes too long|makes more/,
  ],
  ["too much text", loop("i", "0123456789"), /makes more than 65536 characters/],
  ["no template", "{% for %}", /illegal tag/],
];

suite("templates of tenants", (test) => {
  let renderer: TemplateRenderer;
  test.before.each(() => {
    renderer = createTemplateRenderer();
  });
  test.after.each(() => renderer.close());

  const { signal: ending } = new AbortController();
  const alert = sampleMessage("alert", "UTC", 1_800_000_000_000);
  const document = messageDocument(alert, "en");
  const render = (tenant: number, body: string, msMax = renderMsMax) =>
    renderer.render(tenant, { subject: null, body }, document, "UTC", msMax).then((made) => made.body);

  test("one that takes too long ends alone: those that wait behind it are rendered, each with its own text", async () => {
    const evil = rejects(() => render(1, endless), /takes more than 10 seconds/);
    const others = [2, 3, 4, 5].map((tenant) => render(tenant, `{{ status }} of ${tenant}`));
    assert.equal(
      await Promise.all(others),
      [2, 3, 4, 5].map((tenant) => `firing of ${tenant}`),
    );
    assert.instance(await evil, TemplateError);
  });

  test("a preview has two seconds, which is less than an alert has", async () => {
    const began = performance.now();
    const evil = rejects(() => render(1, endless, previewMsMax), /takes more than 2 seconds/);
    assert.is(await render(2, "{{ status }}"), "firing");
    assert.instance(await evil, TemplateError);
    assert.ok(previewMsMax < renderMsMax && performance.now() - began >= previewMsMax);
  });

  test("no template ends more than itself: it fails with a reason, and the next one is rendered", async () => {
    for (const [what, template, reason] of attacks) {
      const error = await rejects(() => render(1, template), reason);
      assert.instance(error, TemplateError, what);
      assert.is(await render(2, "{{ status }}"), "firing", what);
    }
  });

  test("the bundled thread needs no package beside it, and of files the rules of zones alone", () =>
    withTempDir(async (dir) => {
      const service = join(repositoryRoot(), "dist/service");
      await cp(join(service, "src/notifications"), join(dir, "src/notifications"), { recursive: true });
      await cp(join(service, "time-zones.json"), join(dir, "time-zones.json"));
      await writeFile(join(dir, "package.json"), '{"type": "module"}');
      const thread = new Worker(join(dir, "src/notifications/renderer.worker.js"));
      const messages = on(thread, "message")[Symbol.asyncIterator]();
      assert.equal((await messages.next()).value, ["ready"]);
      const templates = {
        subject: "{{ '2026-11-27T20:00:00Z' | date: '%H %z' }}",
        body: "{{ 'é' | base64_encode }} {{ 'é' | sha256 | size }}",
      };
      thread.postMessage({ templates, document, timezone: "Asia/Shanghai" });
      assert.equal((await messages.next()).value, [{ subject: "04 +0800", body: "w6k= 64" }]);
      await thread.terminate();
    }));

  test("a subject that fails is named, and nothing of one text stays for the next", async () => {
    const both = { subject: "{% decrement n %}{% assign x = 1 %}", body: "{% decrement n %}{{ x }}" };
    const made = await renderer.render(1, both, document, "UTC", renderMsMax);
    assert.equal(made, { subject: "-1", body: "-1" });
    const wrong = { subject: bomb, body: "{{ status }}" };
    const error = await rejects(() => renderer.render(1, wrong, document, "UTC", renderMsMax));
    assert.is((error as TemplateError).field, "subject");
  });

  test("an alert whose template fails goes out in the built-in words, and its answer says why; a test always does", async () => {
    for (const [bodyTemplate, reason] of [
      [endless, "cannot render the body template: takes more than 10 seconds"],
      [bomb, "cannot render the body template: takes more than 32 MiB of memory"],
      ["{% for %}", "cannot render the body template: "],
    ] as const) {
      const sent = delivering();
      const point = contactPoint({ bodyTemplate, subjectTemplate: "{{ status }}" });
      const outcome = await sendMessage(renderer, sent.senders, point, { message: alert, id: "1" }, ending);
      assert.is(outcome.isDelivered, true);
      assert.is(outcome.answer.indexOf(reason), 0, outcome.answer);
      assert.match(outcome.answer, "200 OK");
      const [only] = sent.messages;
      assert.is(only?.subject, document.subject);
      assert.equal(JSON.parse(only?.body ?? ""), document);
      const trial = { message: { ...alert, kind: "test" }, id: "2" } as const;
      const tested = await sendMessage(renderer, sent.senders, point, trial, ending);
      assert.equal([tested.isDelivered, tested.answer], [true, "200 OK"]);
      assert.is(JSON.parse(sent.messages[1]?.body ?? "").kind, "test");
    }
  });

  test("what waits when the service ends is not rendered, and no template's fault", async () => {
    const waiting = [render(1, endless), render(2, "{{ status }}")].map((one) => rejects(() => one));
    await renderer.close();
    for (const error of await Promise.all(waiting)) assert.is(error.message, "the service is shutting down");
  });
});

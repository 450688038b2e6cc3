/** Templates of tenants, in their thread. */
import { sampleMessage } from "../../src/notifications/alert-message.js";
import { messageDocument } from "../../src/notifications/message-texts.js";
import { sendMessage } from "../../src/notifications/send-message.js";
import {
  createTemplateRenderer,
  TemplateError,
  type TemplateRenderer,
} from "../../src/notifications/templates.js";
import { assert, rejects, suite } from "../suite.js";
import { contactPoint, delivering } from "./senders.js";

/** A filter that searches long texts for minutes: the limits of Liquid look between tags, not within one. */
const endless = [
  "{% assign s = 'a' %}{% for i in (1..17) %}{% assign s = s | append: s %}{% endfor %}",
  "{% assign t = s | slice: 0, 60000 | append: 'b' %}{% assign a = s | slice: 0, 20000 | split: '' %}",
  `{% assign b = a | where_exp: 'x', '${Array.from({ length: 100 }, () => "s contains t").join(" or ")}' %}`,
  "{{ b | size }}",
].join("");

suite("templates of tenants", (test) => {
  let renderer: TemplateRenderer;
  test.before.each(() => {
    renderer = createTemplateRenderer();
  });
  test.after.each(() => renderer.close());

  const { signal: ending } = new AbortController();
  const alert = sampleMessage("alert", "UTC", 1_800_000_000_000);
  const document = messageDocument(alert, "en");
  const render = (tenant: number, body: string) =>
    renderer.render(tenant, { subject: null, body }, document, "UTC").then((made) => made.body);

  test("one that takes too long ends alone: those that wait behind it are rendered, each with its own text", async () => {
    const evil = rejects(() => render(1, endless), /takes more than 2 seconds/);
    const others = [2, 3, 4, 5].map((tenant) => render(tenant, `{{ status }} of ${tenant}`));
    assert.equal(
      await Promise.all(others),
      [2, 3, 4, 5].map((tenant) => `firing of ${tenant}`),
    );
    assert.instance(await evil, TemplateError);
  });

  test("an alert whose template fails is told in the built-in words, and its answer says why; a test is not sent", async () => {
    for (const [bodyTemplate, reason] of [
      [endless, "cannot render the body template: takes more than 2 seconds"],
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
      assert.equal([tested.isDelivered, tested.isTransient], [false, false]);
      assert.is(tested.answer.indexOf(reason), 0, tested.answer);
      assert.is(sent.messages.length, 1);
    }
  });

  test("what waits when the service ends is not rendered, and no template's fault", async () => {
    const waiting = [render(1, endless), render(2, "{{ status }}")].map((one) => rejects(() => one));
    await renderer.close();
    for (const error of await Promise.all(waiting)) assert.is(error.message, "the service is shutting down");
  });
});

/** Templates mean in the sandbox what they mean to liquidjs on Node.js itself, which is the oracle here. */
import { filters, Liquid, tags } from "liquidjs";
import { openSandbox, type Sandbox } from "../../ingest/sandbox/sandbox.js";
import { sampleMessage } from "../../src/notifications/alert-message.js";
import { messageDocument } from "../../src/notifications/message-texts.js";
import { templateProgram } from "../../src/notifications/template-program.js";
import { assert, suite } from "../suite.js";

const limits = { stepsMax: 1000, outputLengthMax: 65_536 };
const zones = ["UTC", "Asia/Shanghai", "America/New_York", "Asia/Kathmandu"];
const { alerts, ...rest } = messageDocument(sampleMessage("alert", "UTC", 1_800_000_000_000), "en");
const document = {
  ...rest,
  alerts: [
    ...alerts,
    { ...alerts[0], deviceName: '<b>"锅炉" & Söhne</b> 😀', severity: "minor", id: 7 },
    { ...alerts[0], deviceName: "  zeta ", alertSeverity: 4, endTime: "2026-03-29T02:30:00.000Z" },
  ],
};

/** What one side makes of a template: its text, or that it cannot. */
type Made = { readonly text: string } | "fails";

function onNode(template: string, timezone: string): Made {
  const liquid = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    locale: "en-US",
    timezoneOffset: timezone,
  });
  try {
    // A template may change its document.
    return { text: String(liquid.parseAndRenderSync(template, structuredClone(document))) };
  } catch {
    return "fails";
  }
}

function inSandbox(sandbox: Sandbox, template: string, timezone: string): Made {
  try {
    return { text: String(sandbox.call("render", { template, document, timezone }, limits)) };
  } catch {
    return "fails";
  }
}

const inputs = [
  "''",
  "'Boiler 7: <em>\"hot\" & cold</em>\n 50%'",
  "'锅炉 Straße ÀÉÎ 😀 x y x y'",
  "'2026-11-21T10:00:00.000Z'",
  "'aGkgdGhlcmU='",
  "-17.25",
  "1800000000",
  "alerts",
  "alerts[2].deviceName",
  "nothing",
];
const argumentLists = ["", ": 'x'", ": 2", ": 'id', 7", ": 'deviceName'", ": 'x', 'x.id > 2'", ": 3, '…'"];
const dateForms = "aAbBcCdDeFHIjklLmMNpPqrsStTuUvwWxXyYzZn%".split("").map((letter) => `%${letter}`);

suite("templates in the sandbox", (test) => {
  let sandbox: Sandbox;
  test.before(async () => {
    sandbox = await openSandbox(templateProgram);
  });
  test.after(() => sandbox.close());

  const compare = (template: string, timezone = "UTC"): Made => {
    const made = onNode(template, timezone);
    assert.equal(inSandbox(sandbox, template, timezone), made, `${timezone}: ${template}`);
    return made;
  };

  test("every filter makes of every kind of value what it makes on Node.js", () => {
    let texts = 0;
    for (const filter of Object.keys(filters)) {
      // It gives another text each time.
      if (filter === "sample") continue;

      const made = inputs.flatMap((input) =>
        argumentLists.map((list) => compare(`{{ ${input} | ${filter}${list} }}`)),
      );
      const own = new Set(made.map((one) => (one === "fails" ? "" : one.text)));
      assert.ok(own.size > 1, `${filter} was never seen at work`);
      texts += own.size;
    }
    assert.ok(texts > 500, `${texts}`);
    assert.equal(compare('{{ "a,a" | split: "," | sample }}'), { text: "a" });
  });

  test("dates are the wall clock of the route's zone, or of one that the template names", () => {
    const times = ["2026-03-29T00:59:59.123Z", "2026-10-25T01:00:00.000Z", "2026-01-01T00:00:00.000Z"];
    for (const timezone of zones) {
      for (const time of times) {
        for (const form of dateForms) compare(`{{ '${time}' | date: '${form}' }}`, timezone);
        for (const named of zones) compare(`{{ '${time}' | date: '%c %z', '${named}' }}`, timezone);
      }
      for (const filter of ["date_to_xmlschema", "date_to_rfc822", "date_to_string", "date_to_long_string"]) {
        compare(
          `{% for a in alerts %}{{ a.startTime | ${filter} }}|{{ a.endTime | ${filter} }}{% endfor %}`,
          timezone,
        );
      }
    }
    assert.is(compare("{{ alerts[0].startTime | date: '%H', 'Nowhere/Land' }}"), "fails");
  });

  test("every tag does what it does on Node.js", () => {
    const templates: Readonly<Record<string, string>> = {
      assign: "{% assign a = alerts | map: 'id' %}{{ a | join: '-' }}",
      block: "{% block a %}x{% endblock %}",
      break: "{% for a in alerts %}{{ a.id }}{% break %}{% endfor %}",
      capture: "{% capture c %}<{{ status }}>{% endcapture %}{{ c }}{{ c }}",
      case: "{% case status %}{% when 'firing', 'x' %}F{% else %}E{% endcase %}",
      comment: "a{% comment %}{{ nothing }}{% endcomment %}b",
      continue: "{% for a in alerts %}{% if a.id == 2 %}{% continue %}{% endif %}{{ a.id }},{% endfor %}",
      cycle: "{% for a in alerts %}{% cycle 'one', 'two' %}{% endfor %}",
      decrement: "{% decrement n %}{% decrement n %}",
      echo: "{% echo subject | upcase %}",
      for: "{% for a in alerts reversed limit: 2 offset: 1 %}{{ forloop.index }}/{{ forloop.length }}{{ a.id }}{% else %}none{% endfor %}",
      if: "{% if began > 0 and alerts.size >= 2 or status contains 'x' %}y{% elsif more %}z{% else %}n{% endif %}",
      include: "{% include 'x' %}",
      increment: "{% increment n %}{% increment n %}{{ n }}",
      layout: "{% layout '/etc/hosts' %}",
      liquid: "{% liquid\nassign x = began\necho x\n%}",
      raw: "{% raw %}{{ status }}{% endraw %}",
      render: "{% render 'x' %}",
      tablerow: "{% tablerow a in alerts cols: 2 %}{{ a.id }}{% endtablerow %}",
      unless: "{% unless firing == 0 %}on{% endunless %}",
      "#": "{% # nothing is said %}a{%- # here -%} b",
    };
    assert.equal(Object.keys(templates).sort(), Object.keys(tags).sort());
    for (const template of Object.values(templates)) compare(template);
    for (const tag of ["include", "layout", "render"]) assert.is(compare(templates[tag] ?? ""), "fails", tag);
  });

  test("what is hidden from templates on Node.js is hidden here", () => {
    for (const name of [
      "constructor",
      "__proto__",
      "process",
      "globalThis",
      "alerts.constructor",
      "status.length",
    ]) {
      compare(`{{ ${name} }}|{{ ${name}.constructor }}`);
    }
  });
});

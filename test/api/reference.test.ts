import { Ajv2020 } from "ajv/dist/2020.js";
import { apiRoutes } from "../../src/api/routes.js";
import {
  type DocumentedOperation,
  type JSONSchema,
  listOperations,
  type Media,
} from "../../src/reference/close-schemas.js";
import { deviceTag } from "../../src/reference/device-operations.js";
import { openApiDocument } from "../../src/reference/document.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { assert, suite } from "../suite.js";
import { refused, worldSuite } from "../world.js";

const routes = apiRoutes(inertDeps());
const document = openApiDocument(routes);
const json = "application/json";

/** Every body and answer with a place to name it by, a pointer into the document. */
function media(): [pointer: string, media: Media][] {
  const found: [string, Media][] = [];
  const walk = (value: unknown, pointer: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      const place = `${pointer}/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`;
      if (key !== "content") walk(inner, place);
      else {
        for (const [type, one] of Object.entries(inner as Record<string, Media>)) {
          found.push([`${place}/${encodeURIComponent(type.replaceAll("/", "~1"))}`, one]);
        }
      }
    }
  };
  walk({ paths: document.paths, components: document.components }, "");
  return found;
}

suite("reference document", (test) => {
  const all = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): [string, DocumentedOperation] => [
      `${method} ${path}`,
      operation,
    ]),
  );
  const isOfDevices = ({ tags }: DocumentedOperation): boolean => tags.includes(deviceTag);
  const named = all.filter(([, operation]) => !isOfDevices(operation));

  test("what devices ask is there, with their own credentials", () => {
    const ofDevices = all.filter(([, operation]) => isOfDevices(operation));
    assert.equal(ofDevices.map(([name]) => name).sort(), [
      "delete /api/v1/inbox/{id}",
      "get /api/v1/inbox",
      "post /api/v1/uplinks",
      "post /api/v1/uplinks/{topic}",
      "post /api/v2/write",
    ]);
    for (const [name, { security, responses, parameters = [] }] of ofDevices) {
      assert.equal(security, [{ device: [] }], name);
      for (const status of ["400", "401", "403", "429", "503"])
        assert.ok(responses[status], `${name} ${status}`);
      for (const one of parameters) assert.ok(one.name && one.schema && one.description, name);
    }
  });

  test("every route is there, once, with what a reader needs", () => {
    const expected = routes
      .map(({ spec }) => `${spec.method} ${spec.path}`)
      .filter((one) => !one.includes(" /reference/"));
    assert.equal(named.map(([name]) => name).sort(), [...new Set(expected)].sort());
    const ids = listOperations(document).map(({ operationId }) => operationId);
    assert.is(new Set(ids).size, ids.length);
    for (const [name, { summary, operationId, parameters = [] }] of named) {
      assert.ok(summary.length > 3, name);
      assert.match(operationId, /^[a-z][A-Za-z0-9]+$/);
      const shared = name.includes(" /api/") ? ["ApiVariant", "TimeFormat", "LabelLanguage"] : ["ApiVariant"];
      assert.equal(
        parameters.slice(0, shared.length),
        shared.map((one) => ({ $ref: `#/components/parameters/${one}` })),
      );
      for (const one of parameters.slice(shared.length))
        assert.ok(one.name && one.in && one.schema && one.description, name);
    }
  });

  test("a body may hold null wherever the field is optional", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
    ajv.addSchema(document, "reference");
    const required = { productName: "P", cloudProtocol: 1, deviceName: "D", deviceID: "d1" };
    const bodies: Record<string, object> = {
      ProductCreate: { description: null },
      DeviceCreate: {
        deviceType: 1,
        productID: "p1",
        carrier: null,
        latitude: null,
        gateway: null,
        IMEI: null,
      },
    };
    for (const [name, body] of Object.entries(bodies)) {
      const check = ajv.compile({ $ref: `reference#/components/schemas/${name}` });
      assert.ok(check({ ...required, ...body }), `${name}: ${ajv.errorsText(check.errors)}`);
    }
    const carrier = ajv.compile({ $ref: "reference#/components/schemas/DeviceCreate/properties/carrier" });
    assert.equal(
      [4, null, 5, "x"].map((value) => carrier(value)),
      [true, true, false, false],
    );
  });

  test("each tag says what it is about", () => {
    for (const { name, description } of document.tags) assert.ok(description.length > name.length, name);
  });

  test("each parameter of a path is described, and no other", () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const { parameters = [] } of Object.values(operations)) {
        assert.equal(
          parameters.filter((one) => one.in === "path").map((one) => one.name),
          wanted,
          path,
        );
      }
    }
  });

  test("every reference leads somewhere", () => {
    const targets = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g);
    const components = document.components as Record<string, Record<string, unknown>>;
    for (const [whole, kind = "", name = ""] of targets) assert.ok(components[kind]?.[name], whole);
  });

  test("every answer and body has a schema and an example that fits it", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
    ajv.addSchema(document, "reference");
    const shared = document.components.examples as Record<string, { value: unknown }>;
    for (const [pointer, { schema, example, examples }] of media()) {
      assert.ok(schema, pointer);
      if (!decodeURIComponent(pointer).endsWith("application~1json")) continue;
      const values = examples === undefined ? [example] : Object.values(examples).map(exampleIn(shared));
      const validate = ajv.compile({ $ref: `reference#${pointer}/schema` });
      for (const value of values) {
        assert.ok(
          validate(value),
          `${pointer}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`,
        );
      }
    }
  });

  test("alternatives are named for what they are: a variant, or a kind of record", () => {
    const labels = named.flatMap(([name, { requestBody, responses }]) =>
      Object.entries({ request: requestBody, ...responses }).flatMap(([place, body]) =>
        Object.values(body?.content ?? {}).flatMap(({ examples }) =>
          Number(place) >= 400 || examples === undefined
            ? []
            : [
                [
                  `${name} ${place}`,
                  Object.values(examples).map((one) => (one as { summary: string }).summary),
                ],
              ],
        ),
      ),
    );
    const all = new Map(labels as [string, string[]][]);
    assert.ok(all.size > 20, `${all.size}`);
    assert.equal(all.get("get /api/v1/devices/{id} 200"), ["Variant A", "Variant B"]);
    assert.equal(all.get("post /api/v1/data_points request"), ["data point", "data stream"]);
    assert.equal(all.get("put /api/v1/devices/{id}/location 200"), [
      ...["Variant A: device", "Variant A: gateway", "Variant B"],
    ]);
    for (const [place, some] of all) {
      assert.is(new Set(some).size, some.length, place);
      const known = /^(Variant A|Variant B|(Variant [AB]: )?(device|gateway|data point|data stream))$/;
      for (const label of some) assert.match(label, known, place);
    }
  });

  test("answers are exact: a field that is not described does not fit", () => {
    for (const [pointer, { schema }] of media()) {
      if (pointer.includes("/requestBody/") || schema === undefined) continue;
      for (const one of objectsIn(schema)) {
        assert.ok(one.additionalProperties !== undefined, `${pointer}: ${JSON.stringify(one).slice(0, 200)}`);
      }
    }
    assert.not.match(JSON.stringify(document), /"allOf"/);
  });

  test("errors carry their code and headers", () => {
    for (const [name, { responses }] of named) {
      for (const status of Object.keys(responses))
        assert.match(status, /^(20[0124]|304|4\d\d|50[0234])$/, name);
      for (const status of ["400", "406", "500"]) assert.ok(responses[status], `${name} ${status}`);
    }
    const shared = document.components.responses ?? {};
    for (const [name, { headers = {} }] of Object.entries(shared)) {
      assert.ok(headers["X-Request-Id"] && headers["Api-Variant"], name);
      assert.is("Retry-After" in headers, /^(429|503)/.test(name), name);
    }
    assert.ok(shared["405.METHOD_NOT_ALLOWED"]?.headers?.Allow);
  });
});

function exampleIn(shared: Record<string, { value: unknown }>) {
  return (one: object): unknown => {
    const { $ref, value } = one as { $ref?: string; value?: unknown };
    return $ref === undefined ? value : shared[$ref.replace("#/components/examples/", "")]?.value;
  };
}

function objectsIn(schema: JSONSchema): JSONSchema[] {
  const { properties, items, anyOf = [] } = schema;
  const inner = [...Object.values(properties ?? {}), ...(items === undefined ? [] : [items]), ...anyOf];
  return [...(properties === undefined ? [] : [schema]), ...inner.flatMap(objectsIn)];
}

worldSuite("reference", (test, world) => {
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    world.call("GET", path, undefined, { key: null, headers });

  test("the document is served as the routes have it", async () => {
    const reply = await get("/openapi.json");
    assert.match(reply.headers.get("content-type") ?? "", /^application\/json/);
    // A build that is older than the sources would answer another.
    assert.equal(reply.record, JSON.parse(JSON.stringify(document)));
  });

  test("the page is open, is ours, and loads nothing but what is served here", async () => {
    const { status, headers, text } = await get("/reference", { Accept: "text/html" });
    assert.is(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/html/);
    assert.match(text, /<title>Tidemark API reference<\/title>/);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.not.match(policy, /https?:|\*|unsafe/);
    assert.not.match(text, /<script[^>]*>[^<]|https?:\/\/|\/\/\w| on\w+=| style=/);
    const wanted = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => `/${match[1]}`);
    assert.ok(wanted.length >= 6);
    for (const path of wanted) assert.is((await get(path)).status, 200, path);
  });

  test("parts of the page have their types and are asked for once", async () => {
    const types = { "page.js": "text/javascript", "swagger-ui.css": "text/css", "favicon.png": "image/png" };
    for (const [name, type] of Object.entries(types)) {
      const path = `/reference/${name}`;
      const { headers } = await get(path);
      assert.ok(headers.get("content-type")?.startsWith(type), name);
      assert.is(headers.get("x-content-type-options"), "nosniff");
      const again = await get(path, { "If-None-Match": headers.get("etag") ?? "" });
      assert.equal([again.status, again.text], [304, ""]);
    }
    const { headers } = await get("/openapi.json");
    assert.is((await get("/openapi.json", { "If-None-Match": headers.get("etag") ?? "" })).status, 304);
  });

  test("nothing else of the library, and no path out of it, is served", async () => {
    for (const name of [
      "package.json",
      "..%2Fpackage.json",
      "swagger-ui.js.map",
      "%2e%2e/%2e%2e/package.json",
    ]) {
      refused(await get(`/reference/${name}`), "DATA_NOT_FOUND");
    }
    refused(await get("/reference", { Accept: json }), "NOT_ACCEPTABLE");
    refused(await world.call("POST", "/reference", {}), "METHOD_NOT_ALLOWED");
  });
});

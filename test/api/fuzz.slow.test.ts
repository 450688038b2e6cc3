/** Every operation of the reference, with bodies and queries made from its schemas and then broken. */
import fc, { type Arbitrary } from "fast-check";
import { checkAnswer } from "../conformance/answers.js";
import {
  appTemplateBody,
  certBody,
  dataPointBody,
  deviceBody,
  gatewayBody,
  groupBody,
  makeAppTemplate,
  makeCert,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeGroup,
  makeMetric,
  makePolicy,
  makeProduct,
  makeProductResource,
  makeStream,
  metricBody,
  policyBody,
  productBody,
  productResourceBody,
  streamBody,
} from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, type World, worldSuite } from "../world.js";
import { alternatives, fromSchema, type Schema, type Schemas } from "./from-schema.js";
import { badValues, unknownIDs } from "./resource.js";

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly schema: Schema }[];
  readonly body: Schema | null;
  readonly schemas: Schemas;
}

interface Described {
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Reference {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Schemas };
}

/** Left alone: an endless answer; the caller's own credentials; what locks a guesser out. */
const leftAlone = [/\/live$/, /^\/api\/v1\/(users|api_keys|login|logout|tenants)/, /^\/reference/];
const bodiesPerOperation = 40;
const queriesPerOperation = 12;
const messageLengthMax = 1000;

worldSuite("any request that the reference describes", (test, world) => {
  test("is answered as documented, whatever its body, query and path hold", async () => {
    const reference = (await world.call("GET", "/openapi.json")).record as unknown as Reference;
    const records = await openRecords(world);
    const wrong: string[] = [];
    for (const operation of operationsOf(reference)) {
      const sent = fc.asyncProperty(requestsTo(operation, records), (one) => isAnswered(world, one));
      const numRuns = operation.body === null ? queriesPerOperation : bodiesPerOperation;
      const { failed, counterexample, errorInstance } = await fc.check(sent, { numRuns, endOnFailure: true });
      const told = errorInstance instanceof Error ? errorInstance.message : String(counterexample);
      // Quoted, for an answer may be a file.
      if (failed) wrong.push(JSON.stringify(told.slice(0, messageLengthMax)));
    }
    assert.is(wrong.length, 0, wrong.join("\n"));
  });
});

function operationsOf({ paths, components: { schemas } }: Reference): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) => {
    if (leftAlone.some((pattern) => pattern.test(path))) return [];
    return Object.entries(methods).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      query: parameters.flatMap(({ in: place, name, schema = {} }) =>
        place === "query" ? [{ name, schema }] : [],
      ),
      body: requestBody?.content["application/json"]?.schema ?? null,
      schemas,
    }));
  });
}

/** Records that stand, by the words under which paths and bodies speak of them. */
interface Records {
  readonly paths: Readonly<Record<string, Rec>>;
  readonly fields: Body;
  /** Path of a create → a body that is taken, unlike any before. */
  readonly bodies: Readonly<Record<string, () => Body>>;
}

type Body = Readonly<Record<string, unknown>>;

async function openRecords(world: World): Promise<Records> {
  const product = await makeProduct(world);
  const gateway = await makeGateway(world, product);
  const device = await makeDevice(world, product);
  const group = await makeGroup(world, product);
  const point = await makeDataPoint(world, product);
  const stream = await makeStream(world, product, { dataPoints: [point.id] });
  const policy = await makePolicy(world);
  const named = { ...point, productID: product.productID };
  return {
    paths: {
      products: product,
      gateways: gateway,
      devices: device,
      device_consoles: device,
      groups: group,
      data_points: point,
      data_streams: stream,
      policies: policy,
      metrics: await makeMetric(world, point),
      product_resources: await makeProductResource(world, named),
      app_templates: await makeAppTemplate(world, named),
      certs: await makeCert(world),
    },
    fields: {
      productID: product.productID,
      productIntID: product.id,
      deviceID: device.deviceID,
      deviceIntID: device.id,
      groupID: group.groupID,
      groupIntID: group.id,
      dataPointIntID: point.id,
      dataStreamIntID: stream.id,
      gateway: gateway.id,
      parentDevice: device.id,
      cloudProtocol: product.cloudProtocol,
      dataPoints: [point.id],
      ids: [device.id],
      devicesIntID: [device.id],
      expressions: "dataPoint * 2",
    },
    bodies: {
      "/api/v1/products": productBody,
      "/api/v1/devices": () => deviceBody(product),
      "/api/v1/gateways": () => gatewayBody(product),
      "/api/v1/groups": () => groupBody(product),
      "/api/v1/data_points": () => dataPointBody(product),
      "/api/v1/data_streams": () => streamBody(product),
      "/api/v1/metrics": () => metricBody(point),
      "/api/v1/policies": policyBody,
      "/api/v1/certs": certBody,
      "/api/v1/product_resources": () => productResourceBody(named),
      "/api/v1/app_templates": () => appTemplateBody(named),
      "/api/v1/device_publish": () => ({ deviceID: device.deviceID, payload: "on" }),
      "/api/v1/group_publish": () => ({ groupID: group.groupID, payload: "on" }),
      "/api/v1/device_schedule_publish": () => ({
        deviceID: device.deviceID,
        payload: "on",
        scheduleName: "nightly",
        scheduleType: 1,
        IntervalMinute: "60",
      }),
      "/api/v1/group_schedule_publish": () => ({
        groupID: group.groupID,
        payload: "on",
        scheduleName: "once",
        scheduleType: 0,
        crontabTime: "2999-01-01 00:00:00",
      }),
      "/api/v1/resettle": () => ({ startTime: "2026-01-01 00:00:00" }),
    },
  };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly variant: "A" | "B";
}

function requestsTo(operation: Operation, records: Records): Arbitrary<Sent> {
  return fc.record({
    method: fc.constant(operation.method),
    path: fc
      .tuple(pathsOf(operation, records), queriesOf(operation, records))
      .map(([path, query]) => (query === "" ? path : `${path}?${query}`)),
    body: operation.body === null ? fc.constant(undefined) : bodiesOf(operation, operation.body, records),
    variant: fc.constantFrom("A", "B"),
  });
}

function pathsOf({ path }: Operation, { paths }: Records): Arbitrary<string> {
  if (!path.includes("{")) return fc.constant(path);
  // The word before the parameter names the kind of record.
  const kind = /([^/]+)\/\{/.exec(path)?.[1] ?? "";
  const standing = String(paths[kind]?.id ?? 1);
  const ids = fc.oneof({ weight: 5, arbitrary: fc.constant(standing) }, fc.constantFrom(...unknownIDs));
  return ids.map((id) => path.replaceAll(/\{\w+\}/g, id));
}

const badParameters = [
  ...["0", "-1", "1.5", "9007199254740993", "99999999999999999999", "1e400", "%00", "%E0%A4%A", "'--"],
  ...["%F0%9F%A6%89", "x".repeat(10_240), "2026-02-30%2000:00:00", "%25_", "[", ",", "1,,2"],
];

function queriesOf({ method, query }: Operation, { fields }: Records): Arbitrary<string> {
  if (query.length === 0) return fc.constant("");
  const values = query.map(({ name, schema }) => {
    const known = [fields[name], ...(schema.enum ?? []), "1", "word"].filter((one) => one !== undefined);
    // What a delete names shall stand for the next operation.
    const good = method === "DELETE" ? ["999999", "nobody"] : known.map(String);
    const value = fc.oneof(
      fc.constantFrom(...good).map(encodeURIComponent),
      fc.constantFrom(...badParameters),
    );
    return value.map((one) => `${name}=${one}`);
  });
  return fc
    .subarray(values, { maxLength: Math.min(4, values.length) })
    .chain((some) => fc.tuple(...some))
    .map((pairs) => pairs.join("&"));
}

/**
 * Three kinds of body: all that the schema says, with records that stand; one that is taken, with some of its fields
 * made anew; and no object at all. Of the first two, some fields are then broken.
 */
function bodiesOf({ path, schemas }: Operation, body: Schema, records: Records): Arbitrary<unknown> {
  const objects = alternatives(schemas, body).map((schema) => {
    const names = Object.keys(schema.properties ?? {});
    const known = names.filter((name) => name in records.fields);
    const good = Object.fromEntries(known.map((name) => [name, records.fields[name]]));
    const made = fromSchema(schemas, schema) as Arbitrary<Body>;
    const taken = fc.tuple(made, fc.subarray(names, { maxLength: Math.min(3, names.length) })).map(
      ([from, some]): Body => ({
        ...records.bodies[path]?.(),
        ...Object.fromEntries(some.flatMap((name) => (name in from ? [[name, from[name]]] : []))),
      }),
    );
    const broken =
      names.length === 0
        ? fc.constant({})
        : fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...badValues), { maxKeys: 2 });
    const whole = fc.oneof(
      made.map((one) => ({ ...one, ...good })),
      { weight: 2, arbitrary: taken },
    );
    return fc
      .tuple(whole, fc.option(broken, { nil: {}, freq: 1 }))
      .map(([one, bad]): unknown => ({ ...one, ...bad }));
  });
  const others = fc.constantFrom<unknown>(...badValues);
  return fc.oneof({ weight: 15, arbitrary: fc.oneof(...objects) }, { weight: 1, arbitrary: others });
}

async function isAnswered(world: World, { method, path, body, variant }: Sent): Promise<void> {
  // As text, for a text by itself would go as it is.
  const text = body === undefined ? undefined : JSON.stringify(body);
  const reply = await world.call(method, path, text, { headers: { "Api-Variant": variant } });
  const told = `${method} ${path.slice(0, 300)} ${(text ?? "").slice(0, 1000)}`;
  if (reply.status >= 500) throw new Error(`${told}: ${reply.status} ${reply.text.slice(0, 300)}`);
  const type = reply.headers.get("content-type");
  checkAnswer({ method, path, status: reply.status, type, text: reply.text });
}

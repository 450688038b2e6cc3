import { writeFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { apiRoutes } from "../../src/api/routes.js";
import { type Document, type JSONSchema, resolve } from "../../src/reference/close-schemas.js";
import { openApiDocument } from "../../src/reference/document.js";
import { hasForm, type RecordedExamples, readExamples, recordedFile } from "../../src/reference/recorded.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import type { World } from "../world.js";
import { standIns } from "./stand-ins.js";

/** What the run asks and is answered, as examples of the reference. */

interface Recorder {
  /** The world, with every call noted. */
  readonly world: World;
  /** One example of each form of each body and answer that the reference has, of what was noted. */
  examples(): RecordedExamples;
  /** What is in `committed` and was not noted: bodies that were not accepted, answers of no such form. */
  missing(committed: RecordedExamples): string[];
}

interface Noted {
  /** `get /api/v1/devices/{id}` */
  readonly operation: string;
  /** `request`, or the status. */
  readonly place: string;
  readonly form: string | null;
  readonly value: unknown;
}

export function createRecorder(world: World, variant: "A" | "B"): Recorder {
  const noted: Noted[] = [];
  const document = openApiDocument(apiRoutes(inertDeps()));
  const place = locator(document);
  const formOf = chooser(document, variant);

  function note(method: string, path: string, status: number, sent: unknown, answered: unknown): void {
    const found = place(method, path);
    if (found === undefined || status >= 300) return;
    const [operation, schemas] = found;
    const all: readonly (readonly [string, unknown])[] = [
      ["request", sent],
      [String(status), answered],
    ];
    for (const [which, value] of all) {
      const schema = schemas(which);
      if (schema === undefined || value === undefined) continue;
      const form = formOf(schema, value);
      if (form === undefined) continue;
      noted.push({ operation, place: which, form, value: standIns(value, which === "request") });
    }
  }

  const call: World["call"] = async (method, path, body, options) => {
    const reply = await world.call(method, path, body, options);
    const isJson = reply.headers.get("content-type")?.startsWith("application/json") === true;
    if (reply.headers.get("api-variant") !== variant) return reply;
    const sent = typeof body === "object" && !(body instanceof Uint8Array) ? body : undefined;
    note(method, path, reply.status, sent, isJson ? reply.record : undefined);
    return reply;
  };
  const recording = Object.create(world, { call: { value: call } }) as World;

  return {
    world: recording,
    examples: () => {
      const found: Record<string, Record<string, { form: string | null; value: unknown }[]>> = {};
      for (const one of [...noted].sort(byName)) {
        const places = found[one.operation] ?? {};
        found[one.operation] = places;
        const forms = places[one.place] ?? [];
        places[one.place] = forms;
        const known = forms.findIndex(({ form }) => form === one.form);
        const next = { form: one.form, value: shortened(one.value) };
        if (known < 0) forms.push(next);
        else if (worth(one, next.value) > worth(one, forms[known]?.value)) forms[known] = next;
      }
      return found;
    },
    missing: (committed) =>
      Object.entries(committed).flatMap(([operation, places]) =>
        Object.entries(places).flatMap(([which, examples]) => {
          const own = noted.filter((one) => one.operation === operation && one.place === which);
          const outline = which === "request" ? comparable : skeleton;
          const seen = new Set(own.map(({ value }) => JSON.stringify(outline(shortened(value)))));
          return examples
            .filter(({ value }) => !seen.has(JSON.stringify(outline(value))))
            .map(({ value }) => `${operation} ${which}: ${JSON.stringify(value).slice(0, 300)}`);
        }),
      ),
  };
}

const byName = (a: Noted, b: Noted): number =>
  Number(a.operation > b.operation) - Number(a.operation < b.operation) ||
  Number(a.place > b.place) - Number(a.place < b.place);

/** One entry of a page or list stands for all. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 1 && isRecord(value[0]) ? value.slice(0, 1) : value;
  if (!isRecord(value) || !Array.isArray(value.items)) return value;
  return { ...value, items: value.items.slice(0, 1) };
}

/**
 * Prefers fuller answers; the first of several creates, which the fixture makes; and shorter edits, since many are
 * whole records sent back.
 */
function worth({ operation, place }: Noted, value: unknown): number {
  if (place !== "request") return leaves(value);
  return operation.startsWith("put ") ? -leaves(value) : 0;
}

function leaves(value: unknown): number {
  if (value === null || value === "") return 0;
  if (typeof value !== "object") return 1;
  return Object.values(value as object).reduce((sum: number, one) => sum + leaves(one), 0);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names and numbers of records move as lines come and go; everything else of a body stays. */
function comparable(value: unknown, key = ""): unknown {
  if (typeof value === "string") return value.replaceAll(/\d+/g, "0");
  if (typeof value === "number")
    return /(^id|ID|ids|IntID|IDs|gateway|parentDevice|dataPoints)$/.test(key) ? 0 : value;
  if (Array.isArray(value)) return value.map((one) => comparable(one, key));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, comparable(one, name)]));
}

/** The fields alone. */
function skeleton(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(skeleton);
  if (!isRecord(value)) return 0;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, skeleton(value[name])]),
  );
}

/** Writes the file that the reference reads, to be committed: one line for each example. */
export function writeExamples(variant: "A" | "B", examples: RecordedExamples): void {
  const shown = variant === "A" ? examples : withOwnForms(examples, readExamples("A"));
  const operations = Object.entries(shown).map(([operation, places]) => {
    const lists = Object.entries(places).map(([which, list]) => {
      const lines = list.map((one) => `   ${JSON.stringify(one)}`);
      return `  ${JSON.stringify(which)}: [\n${lines.join(",\n")}\n  ]`;
    });
    return ` ${JSON.stringify(operation)}: {\n${lists.join(",\n")}\n }`;
  });
  writeFileSync(recordedFile(variant), `{\n${operations.join(",\n")}\n}\n`);
}

/** The bodies and answers of which Variant B has a form of its own: all others are shown as Variant A has them. */
function withOwnForms(examplesB: RecordedExamples, examplesA: RecordedExamples): RecordedExamples {
  const found = Object.entries(examplesB).map(([operation, places]) => {
    const own = Object.entries(places).filter(
      ([which, list]) => !list.every(({ form }) => hasForm(examplesA[operation]?.[which] ?? [], form)),
    );
    return [operation, Object.fromEntries(own)] as const;
  });
  return Object.fromEntries(found.filter(([, places]) => Object.keys(places).length > 0));
}

type Schemas = (place: string) => JSONSchema | undefined;

function locator(document: Document) {
  // A path without parameters is meant before one with them.
  const paths = Object.keys(document.paths).sort((a, b) => Number(a.includes("{")) - Number(b.includes("{")));
  const patterns = paths.map((path) => {
    const source = path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+");
    return { path, pattern: new RegExp(`^${source}$`) };
  });
  return (method: string, path: string): readonly [string, Schemas] | undefined => {
    const [bare = ""] = path.split("?");
    const found = patterns.find(({ pattern }) => pattern.test(bare))?.path ?? "";
    const operation = document.paths[found]?.[method.toLowerCase()];
    if (operation === undefined) return undefined;
    const schemas: Schemas = (place) =>
      (place === "request" ? operation.requestBody : operation.responses[place])?.content?.[
        "application/json"
      ]?.schema;
    return [`${method.toLowerCase()} ${found}`, schemas];
  };
}

/**
 * Which form of a schema that has several a value has: the name of the form's schema, null where there is one;
 * undefined where it is no form's, or the other variant's.
 */
function chooser(document: Document, variant: "A" | "B") {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
  const { schemas } = document.components;
  const validators = new Map<JSONSchema, ValidateFunction>();
  const fits = (schema: JSONSchema, value: unknown): boolean => {
    const validate = validators.get(schema) ?? ajv.compile({ ...schema, components: { schemas } });
    validators.set(schema, validate);
    return validate(value);
  };
  return (schema: JSONSchema, value: unknown): string | null | undefined => {
    const whole = resolve(document, schema);
    const entries = whole.properties?.items?.items;
    const [forms, one] =
      entries?.anyOf === undefined
        ? [whole.anyOf, value]
        : [entries.anyOf, (value as { items: unknown[] }).items[0]];
    if (forms === undefined) return fits(schema, value) ? null : undefined;
    const names = forms.map((form) => form.$ref?.replace("#/components/schemas/", "") ?? "");
    const isOthers = (name: string) =>
      variant === "A" ? /B$/.test(name) && names.includes(name.slice(0, -1)) : names.includes(`${name}B`);
    return names.find((name, i) => !isOthers(name) && fits(forms[i] ?? {}, one));
  };
}

import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Document, DocumentedResponse } from "../../src/reference/close-schemas.js";
import { builtDocument, partsPath } from "../../src/reference/files.js";

/** Real answers, held against what the reference says of their path, method and status. */

interface Seen {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

interface Described {
  readonly pattern: RegExp;
  /** As the document spells it. */
  readonly path: string;
}

let opened: ReturnType<typeof open> | undefined;

/** @throws Error when the answer is not documented, or is not as it is documented */
export function checkAnswer(seen: Seen): void {
  opened ??= open();
  const wrong = opened(seen) ?? wrongWords(seen);
  if (wrong === null) return;
  const { method, path, status, text } = seen;
  throw new Error(`${method} ${path.slice(0, 200)} answered ${status}, ${wrong}: ${text.slice(0, 1000)}`);
}

function open(): (seen: Seen) => string | null {
  // What the build has written: to describe the routes anew costs every file with a service most of a second.
  const document = JSON.parse(readFileSync(builtDocument, "utf8")) as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, allErrors: false });
  ajv.addSchema(document, "reference");
  // A path without parameters is meant before one with them.
  const paths = Object.keys(document.paths).sort((a, b) => Number(a.includes("{")) - Number(b.includes("{")));
  const described = paths.map(describe);
  const validators = new Map<string, ValidateFunction>();
  const validate = (pointer: string, body: unknown): string | null => {
    let check = validators.get(pointer);
    if (check === undefined) {
      check = ajv.compile({ $ref: `reference#${pointer}` });
      validators.set(pointer, check);
    }
    return check(body)
      ? null
      : `which is not as documented (${ajv.errorsText(check.errors, { dataVar: "it" })})`;
  };
  return ({ method, path, status, type, text }) => {
    const [bare = ""] = path.split("?");
    if (method === "HEAD" || (bare.startsWith(partsPath) && status < 400)) return null;
    const found = described.find(({ pattern }) => pattern.test(bare));
    const operation = document.paths[found?.path ?? ""]?.[method.toLowerCase()];
    // No such path, or no such method: the introduction says what comes then.
    if (operation === undefined) return validate("/components/schemas/Error", parse(text));
    const place = `/paths/${pointerPart(found?.path ?? "")}/${method.toLowerCase()}/responses/${status}`;
    const named = operation.responses[status];
    if (named === undefined) return "which is not documented";
    const [answer, pointer] = resolveAnswer(document, named, place);
    return checkBody(answer, pointer, type, text, validate);
  };
}

/** How a validator speaks when nobody has given it words. */
export const rawWords =
  /\binvalid (input|option|string|key)|\breceived \w|\btoo (big|small)\b|\bexpected \w|\bundefined\b/i;

/** What is wrong with them is said in words of their own. */
const formulas = new Set(["expressions", "condition"]);

function wrongWords({ status, text }: Seen): string | null {
  if (status < 400 || !text.startsWith("{")) return null;
  const { errors = {} } = JSON.parse(text) as { errors?: Readonly<Record<string, string>> };
  const raw = Object.entries(errors).find(([field, said]) => !formulas.has(field) && rawWords.test(said));
  return raw === undefined ? null : `whose errors.${raw[0]} is in the validator's own words`;
}

function checkBody(
  { content = {} }: DocumentedResponse,
  pointer: string,
  type: string | null,
  text: string,
  validate: (pointer: string, body: unknown) => string | null,
): string | null {
  const [bare = ""] = (type ?? "").split(";");
  if (Object.keys(content).length === 0) return text === "" ? null : "whose body should be empty";
  // A download has the type of its file.
  if (!(bare in content || "*/*" in content)) return `as ${bare}, which is not documented`;
  if (bare !== "application/json" || !(bare in content)) return null;
  return validate(`${pointer}/content/${pointerPart(bare)}/schema`, parse(text));
}

function resolveAnswer(
  document: Document,
  answer: DocumentedResponse,
  place: string,
): [DocumentedResponse, string] {
  if (answer.$ref === undefined) return [answer, place];
  const pointer = answer.$ref.slice(1);
  const name = pointer.replace("/components/responses/", "");
  return [document.components.responses?.[name] ?? answer, pointer];
}

function describe(path: string): Described {
  const source = path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{\w+\}/g, "[^/]+");
  return { path, pattern: new RegExp(`^${source}$`) };
}

function pointerPart(part: string): string {
  return encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

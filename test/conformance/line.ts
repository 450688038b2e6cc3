import type { Reply, World } from "../world.js";
import type { Form } from "./form.js";

export type Body = Readonly<Record<string, unknown>>;

/** A request. `{name.field}` stands for a field of a record of the scope, `{unique}` for a number used once. */
interface Call {
  /** `GET /devices?_limit=1`; a path below /api/v1, except that `//x` is `/x` itself. */
  readonly call: string;
  readonly body?: unknown;
  /** A file of a form in place of the body. */
  readonly file?: { readonly name: string; readonly text: string };
  /** Filled in like the body. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request made before, whose answer gets a name in the scope. */
export interface Given extends Call {
  readonly as: string;
}

/** One line of the interface. */
export interface Line extends Call {
  /** The section, and what it says. */
  readonly says: string;
  /** The variants in which it holds. */
  readonly in: "A" | "B" | "AB";
  readonly given?: readonly Given[];
  readonly status: number | readonly number[];
  readonly answer: Form | { readonly A: Form; readonly B: Form };
}

export type Scope = Map<string, unknown>;

/** What the lines are asked of: one process, or several that are to answer as one. */
export type Target = Pick<World, "call" | "publish">;

export function lines(section: string, entries: readonly Line[]): readonly Line[] {
  return entries.map((entry) => ({ ...entry, says: `${section}: ${entry.says}` }));
}

/** What does not hold; empty where the line does. `scope` is the fixture, and is not changed. */
export async function examine(
  target: Target,
  line: Line,
  variant: "A" | "B",
  scope: Scope,
): Promise<readonly string[]> {
  const own = new Map(scope);
  try {
    for (const given of line.given ?? []) await provide(target, given, own);
    const reply = await ask(target, line, own, {});
    const wanted = [line.status].flat();
    if (!wanted.includes(reply.status)) {
      return [`status ${reply.status}, not ${wanted.join(" or ")}: ${reply.text.slice(0, 300)}`];
    }
    const form = typeof line.answer === "function" ? line.answer : line.answer[variant];
    return form(reply.text === "" ? "" : reply.record, "");
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Makes a record in Variant A's form and names it. @throws Error with the answer, if it is no success */
export async function provide(target: Target, given: Given, scope: Scope): Promise<void> {
  const reply = await ask(target, given, scope, { "Api-Variant": "A" });
  if (reply.status >= 300) {
    throw new Error(`cannot make ${given.as}: ${given.call}: ${reply.status} ${reply.text.slice(0, 300)}`);
  }
  scope.set(given.as, reply.record);
}

function ask(
  target: Target,
  { call, body, file, headers }: Call,
  scope: Scope,
  more: object,
): Promise<Reply> {
  const [method = "", ...rest] = call.split(" ");
  const path = fill(rest.join(" "), scope, (text) => encodeURIComponent(text).replaceAll("%2F", "/"));
  const url = path.startsWith("//") ? path.slice(1) : `/api/v1${path}`;
  const all = { ...more, ...(resolve(headers ?? {}, scope) as Readonly<Record<string, string>>) };
  if (file === undefined) return target.call(method, url, body && resolve(body, scope), { headers: all });
  const disposition = `Content-Disposition: form-data; name="file"; filename="${file.name}"`;
  const parts = [`--${boundary}`, disposition, "", fill(file.text, scope, String), `--${boundary}--`, ""];
  return target.call(method, url, parts.join("\r\n"), {
    headers: { ...all, "Content-Type": `multipart/form-data; boundary=${boundary}` },
  });
}

const boundary = "tidemark-conformance";

let used = 0;

function fill(template: string, scope: Scope, write: (text: string) => string): string {
  return template.replaceAll(placeholder, (whole, name: string, field?: string) =>
    name === "unique" ? String(++used) : write(String(look(whole, name, field, scope))),
  );
}

const placeholder = /\{(\w+)(?:\.(\w+))?\}/g;
const alone = /^\{(\w+)(?:\.(\w+))?\}$/;

/** The body with its placeholders filled; `"..."` spreads a record of the scope into it. */
function resolve(value: unknown, scope: Scope): unknown {
  if (typeof value === "string") {
    const [whole, name, field] = alone.exec(value) ?? [];
    if (whole === undefined || name === undefined || name === "unique") return fill(value, scope, String);
    return look(whole, name, field, scope);
  }
  if (Array.isArray(value)) return value.map((one) => resolve(one, scope));
  if (typeof value !== "object" || value === null) return value;
  const { "...": spread, ...fields } = value as Record<string, unknown>;
  const own = Object.fromEntries(Object.entries(fields).map(([key, one]) => [key, resolve(one, scope)]));
  return spread === undefined ? own : { ...(resolve(spread, scope) as object), ...own };
}

interface Derivable {
  readonly id?: number;
  readonly items?: readonly { readonly id: number }[];
}

/** What a placeholder may ask of an answer beyond its fields. */
const derived: Readonly<Record<string, (found: Derivable) => unknown>> = {
  /** The record id as a numeric string. */
  text: ({ id }) => (id === undefined ? undefined : String(id)),
  /** The record id of a page's first item. */
  first: ({ items }) => items?.[0]?.id,
};

function look(whole: string, name: string, field: string | undefined, scope: Scope): unknown {
  const found = scope.get(name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  if (field === undefined) return found;
  const value = (found as Body)[field] ?? derived[field]?.(found as Derivable);
  if (value === undefined) throw new Error(`there is no ${whole}`);
  return value;
}

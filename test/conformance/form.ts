/** What an answer must look like: exact keys, types, nulls, label texts. A form lists what does not fit. */

export type Form = (value: unknown, at: string) => readonly string[];

const fits =
  (what: string, test: (value: unknown) => boolean): Form =>
  (value, at) =>
    test(value) ? [] : [`${at || "the answer"} is ${show(value)}, not ${what}`];

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "absent";
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

export const int = fits("an integer", Number.isInteger);
export const number = fits("a number", (value) => typeof value === "number");
export const text = fits("a text", (value) => typeof value === "string");
export const nothing = fits("null", (value) => value === null);
export const json = fits("any value", (value) => value !== undefined);
export const stamp = matching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
export const address = matching(/^\S+:\d+$/);

export function matching(pattern: RegExp): Form {
  return fits(`a text like ${pattern}`, (value) => typeof value === "string" && pattern.test(value));
}

export function is(expected: string | number | boolean): Form {
  return fits(JSON.stringify(expected), (value) => value === expected);
}

export function oneOf(...expected: readonly (string | number | null)[]): Form {
  return fits(`one of ${JSON.stringify(expected)}`, (value) =>
    (expected as readonly unknown[]).includes(value),
  );
}

export function orNull(form: Form): Form {
  return (value, at) => (value === null ? [] : form(value, at));
}

/** An object with exactly these fields. */
export function record(fields: Readonly<Record<string, Form>>): Form {
  return (value, at) => {
    const unknown = keysOf(value).filter((key) => !(key in fields));
    return [...holding(fields)(value, at), ...unknown.map((key) => `${path(at, key)} is not documented`)];
  };
}

/** An object with at least these fields. */
export function holding(fields: Readonly<Record<string, Form>>): Form {
  return (value, at) => {
    if (!isObject(value)) return [`${at || "the answer"} is ${show(value)}, not an object`];
    return Object.entries(fields).flatMap(([key, form]) =>
      key in value ? form(value[key], path(at, key)) : [`${path(at, key)} is absent`],
    );
  };
}

export function array(form: Form): Form {
  return (value, at) => {
    if (!Array.isArray(value)) return [`${at || "the answer"} is ${show(value)}, not an array`];
    return value.flatMap((one, index) => form(one, `${at}[${index}]`));
  };
}

/** An array with something in it, so that the form of its entries is really looked at. */
export function some(form: Form): Form {
  return (value, at) =>
    Array.isArray(value) && value.length === 0 ? [`${at || "the answer"} is empty`] : array(form)(value, at);
}

/** The page envelope, with at least one item. */
export function page(item: Form): Form {
  return record({ items: some(item), meta: record({ count: int, limit: int, page: int }) });
}

/** The page envelope around exactly that many items. */
export function pageOf(count: number, item: Form = json): Form {
  return both(
    record({ items: array(item), meta: record({ count: is(count), limit: int, page: int }) }),
    (value, at) => {
      const found = isObject(value) && Array.isArray(value.items) ? value.items.length : 0;
      return found === count ? [] : [`${at}items holds ${found} records, not ${count}`];
    },
  );
}

export function both(one: Form, other: Form): Form {
  return (value, at) => [...one(value, at), ...other(value, at)];
}

/** A body of no bytes. */
export const empty: Form = (value) => (value === "" ? [] : [`the body is ${show(value)}, not empty`]);

/** The error body, naming at least these fields. */
export function error(errorCode: string, ...fields: readonly string[]): Form {
  return record({
    errorCode: is(errorCode),
    message: text,
    errors: holding(Object.fromEntries(fields.map((field) => [field, text]))),
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function keysOf(value: unknown): string[] {
  return isObject(value) ? Object.keys(value) : [];
}

function path(at: string, key: string): string {
  return at === "" ? key : `${at}.${key}`;
}

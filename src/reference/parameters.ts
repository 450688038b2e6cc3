import { pageLimitDefault, pageLimitMax } from "../http/paging.js";
import { type Document, operationsOf, type Parameter, type Schema } from "./close-schemas.js";

/** What every list calls alike. */
const known: Readonly<Record<string, Schema>> = {
  _page: { type: "integer", minimum: 1, default: 1 },
  _limit: { type: "integer", minimum: 1, maximum: pageLimitMax, default: pageLimitDefault },
};

const types: Readonly<Record<string, string>> = { integer: "integer", real: "number" };

/** Query parameters are read as text; what they must be is told here. */
export function describeParameters(document: Document): void {
  for (const { parameters = [] } of operationsOf(document)) {
    for (const one of parameters) if (one.in === "query") describe(one);
  }
}

function describe(parameter: Parameter): void {
  const { name, schema } = parameter;
  const [, type] = /^equal to \((\w+)\)$/.exec(schema.description ?? parameter.description ?? "") ?? [];
  const exact = known[name] ?? (type !== undefined && types[type] ? { type: types[type] } : undefined);
  if (exact !== undefined) Object.assign(schema, exact);
  // One place for the words: the parameter itself.
  parameter.description ??= schema.description ?? (name.endsWith("_like") ? "contains" : "see the summary");
  if (type !== undefined) parameter.description = "equal to";
  delete schema.description;
  if (schema.example !== undefined) delete schema.example;
  if (exact !== undefined && known[name] !== undefined) delete parameter.example;
}

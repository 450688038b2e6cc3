/** Checks a dashboard's document: its size, its form piece by piece, then the rules between its fields. */
import type { z } from "@hono/zod-openapi";
import { createYielder } from "../../store/lib/scheduling.js";
import { inWords, meant } from "../config/validation-texts.js";
import { invalid } from "../http/errors.js";
import {
  type DashboardDocument,
  documentBytesMax,
  headSchema,
  listMax,
  panelSchema,
  variableSchema,
} from "./document.js";
import { brokenRules } from "./document-rules.js";

/** Faults that one answer names. */
const faultsMax = 100;

/**
 * The document as it is stored. `now` in milliseconds. @throws ApiError PARAMETER_INVALID naming each wrong field,
 * `document.panels.3.title`, up to a hundred
 */
export async function readDocument(sent: unknown, now: number): Promise<DashboardDocument> {
  const faults = createFaults();
  if (!isWithinSize(sent))
    throw invalid({ document: `must be at most ${documentBytesMax >> 10} KiB as JSON` });
  const head = faults.read(headSchema, sent, []);
  if (head === undefined) throw faults.error();
  const yieldIfDue = createYielder();
  const variables: z.output<typeof variableSchema>[] = [];
  for (const [i, one] of head.variables.entries()) {
    const variable = faults.read(variableSchema, one, ["variables", i]);
    if (variable !== undefined) variables.push(variable);
  }
  const panels: z.output<typeof panelSchema>[] = [];
  for (const [i, one] of head.panels.entries()) {
    await yieldIfDue();
    const panel = faults.checkLists(one, ["panels", i])
      ? faults.read(panelSchema, one, ["panels", i])
      : undefined;
    if (panel !== undefined) panels.push(panel);
  }
  if (faults.count > 0) throw faults.error();
  const document = { ...head, variables, panels };
  for (const { path, fault } of brokenRules(document, now)) faults.add(path, fault);
  if (faults.count > 0) throw faults.error();
  return document;
}

function isWithinSize(sent: unknown): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(sent) ?? "") <= documentBytesMax;
  } catch {
    // The value is nested too deeply for the stack.
    return false;
  }
}

type Path = readonly PropertyKey[];

/** The faults of a document, by field. */
function createFaults() {
  const found = new Map<string, string>();

  function add(path: Path, fault: string): void {
    const field = ["document", ...path].map(String).join(".").slice(0, 300);
    if (found.size < faultsMax && !found.has(field)) found.set(field, fault);
  }

  function addIssue(issue: z.core.$ZodIssue, at: Path): void {
    const path = [...at, ...issue.path];
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys.slice(0, faultsMax)) add([...path, key], "is no field of it");
    } else add(path, issue.message);
  }

  return {
    add,
    get count() {
      return found.size;
    },
    error: () => invalid(Object.fromEntries(found)),
    /** The value; undefined if it has faults. */
    read: <Schema extends z.ZodType>(
      schema: Schema,
      value: unknown,
      at: Path,
    ): z.output<Schema> | undefined => {
      const parsed = schema.safeParse(value, { error: inWords });
      if (parsed.success) return parsed.data;
      for (const issue of parsed.error.issues) {
        const inner = meant(issue);
        // `meant` finds no issues if no form has the value's `type`: then the issue of the union itself is added.
        for (const one of inner.length === 0 ? [issue] : inner) addIssue(one, at);
      }
      return undefined;
    },
    /** False if a list is so long that its entries are not looked at. */
    checkLists: (panel: unknown, at: Path): boolean => {
      const lists = Object.entries(panel ?? {}).filter(
        ([, list]) => Array.isArray(list) && list.length > listMax,
      );
      for (const [field] of lists) add([...at, field], `must have at most ${listMax} entries`);
      return lists.length === 0;
    },
  };
}

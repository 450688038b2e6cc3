import { z } from "@hono/zod-openapi";
import { patternCharactersMax } from "../../store/metadata/db/containing.js";
import type { FleetFilters } from "../../store/metadata/fleet/filters.js";
import { isUnfiltered } from "../../store/metadata/fleet/filters.js";
import { type FleetRequest, fleetCountedMax } from "../../store/metadata/fleet/fleet.js";
import {
  type FleetField,
  type FleetPlace,
  type FleetSort,
  fleetFields,
  keyType,
} from "../../store/metadata/fleet/order.js";
import { invalid } from "../http/errors.js";
import { codeField, integerField, parseWith } from "../http/fields.js";
import { wholeNumber } from "../http/list-query.js";

/** The fleet's filters, sorts and places, as they are asked for. */

const fleetLimitMax = 200;
const fleetLimitDefault = 50;
/** How far into all rows an offset leads; where filters apply, into as many as are counted. */
const fleetOffsetMax = 200_000;
const cursorLengthMax = 4096;
const sortDefault = "-lastSeen";

const characters = (text: string): number => [...text].length;

const filterFields = {
  q: z
    .string()
    .min(1, "must not be empty")
    .refine(
      (text) => characters(text) <= patternCharactersMax,
      `must have ${patternCharactersMax} characters at most`,
    )
    .optional()
    .openapi({ description: "in deviceID, deviceName, deviceUsername or serialNumber, in any case" }),
  productIntID: integerField(1).optional(),
  groupIntID: integerField(1).optional(),
  deviceStatus: codeField(0, 1, 2).optional(),
  blocked: codeField(0, 1).optional(),
  hasAlert: codeField(0, 1).optional(),
  kind: z.enum(["device", "gateway"]).optional(),
};

/** In a body. */
export const fleetFilterBody = z.strictObject(filterFields).openapi("FleetFilter");

const parameter = (description: string) => z.string().optional().openapi({ description });

export const fleetQuery = z.object({
  q: parameter("in deviceID, deviceName, deviceUsername or serialNumber, in any case"),
  productIntID: parameter("integer"),
  groupIntID: parameter("integer"),
  deviceStatus: parameter("0, 1 or 2"),
  blocked: parameter("0 or 1"),
  hasAlert: parameter("1: with a current alert; 0: without"),
  kind: parameter("device or gateway; absent: both"),
  _sort: parameter(`one of ${fleetFields.join(", ")}, after a - descending; absent: ${sortDefault}`),
  _limit: parameter(`rows, at most ${fleetLimitMax}; absent: ${fleetLimitDefault}`),
  after: parameter("`next` of the page before, of the same _sort"),
  offset: parameter(
    `in place of after: rows to skip, at most ${fleetOffsetMax}, with filters ${fleetCountedMax}`,
  ),
  facets: parameter("1: with counts by status, product, blocking and alerts"),
});

/** @throws ApiError PARAMETER_INVALID naming the wrong parameters */
export function fleetRequest(query: z.output<typeof fleetQuery>): FleetRequest {
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
  const filters: FleetFilters = parseWith(z.object(filterFields), given);
  const errors: Record<string, string> = {};
  const { _limit, _sort = sortDefault, after, offset, facets = "0" } = given as typeof query;
  const limit = wholeNumber(_limit, fleetLimitDefault, 1, fleetLimitMax, "_limit", errors);
  const offsetMax = isUnfiltered(filters) ? fleetOffsetMax : fleetCountedMax;
  const skipped = wholeNumber(offset, 0, 0, offsetMax, "offset", errors);
  const sort = parseSort(_sort);
  if (sort === null) errors._sort = `must be one of ${fleetFields.join(", ")}, after a - descending`;
  if (facets !== "0" && facets !== "1") errors.facets = "must be 0 or 1";
  const place = after === undefined || sort === null ? null : parseCursor(after, sort);
  if (after !== undefined && place === null && sort !== null) errors.after = "is not of a page of this _sort";
  if (after !== undefined && offset !== undefined) errors.offset = "must not be given with after";
  if (sort === null || Object.keys(errors).length > 0) throw invalid(errors);
  return { filters, sort, limit, after: place, offset: skipped, facets: facets === "1" };
}

function parseSort(text: string): FleetSort | null {
  const descending = text.startsWith("-");
  const field = fleetFields.find((one) => one === text.slice(descending ? 1 : 0));
  return field === undefined ? null : { field, descending };
}

const formatSort = ({ field, descending }: FleetSort): string => `${descending ? "-" : ""}${field}`;

/** A place as callers send it back. */
export function formatCursor(place: FleetPlace, sort: FleetSort): string {
  return Buffer.from(JSON.stringify([formatSort(sort), place.key, place.id])).toString("base64url");
}

/** Null if it is no place of this order. */
function parseCursor(cursor: string, sort: FleetSort): FleetPlace | null {
  if (cursor.length > cursorLengthMax || !/^[\w-]+$/.test(cursor)) return null;
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (!Array.isArray(read) || read.length !== 3 || read[0] !== formatSort(sort)) return null;
    const [, key, id] = read as [string, unknown, unknown];
    return isKey(key, sort.field) && isInteger(id) ? { key, id } : null;
  } catch {
    return null;
  }
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);

function isKey(key: unknown, field: FleetField): key is string | number {
  return keyType(field) === "text" ? typeof key === "string" : isInteger(key);
}

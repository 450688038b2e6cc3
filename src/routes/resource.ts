import { z } from "@hono/zod-openapi";
import type { Zone } from "../../query/zone.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  type IDTable,
  type Listing,
  ownID,
  type Page,
  type PageRequest,
  resolveIDs,
} from "../../store/metadata/db/table.js";
import type { ApiCaller } from "../http/caller.js";
import type { ErrorCode } from "../http/errors.js";
import { listQuery, pageRequest, refusedParameters, refuseParameters } from "../http/list-query.js";
import { idsQuery, idTexts, only, pageAnswer } from "../http/paging.js";
import type { Making } from "../http/response-budget.js";
import { type Route, route, type Variant } from "../http/route.js";
import { idParams, pageSchema } from "../http/schemas.js";
import type { Writing } from "../http/writing.js";
import { type ViewContext, viewContext } from "../views/context.js";

/**
 * The routes that all resources share: a list, a detail, a delete. Differences between resources are data; differences
 * between the variants are in the view, which receives the variant in effect.
 */

/** The caller and the view that is asked for. */
export interface ResourceRequest {
  readonly caller: ApiCaller;
  readonly variant: Variant;
  readonly writing: Writing;
}

/** Enough of it to find a record. */
type Finding = Pick<ResourceRequest, "caller" | "variant">;

/** For a list, whose answer may take long: the signal fires if the caller leaves. */
interface ListRequest extends ResourceRequest {
  readonly request: Pick<Request, "signal">;
}

/** The answer's schema in Variant A, and in B if it differs. */
interface Schemas {
  readonly schema: z.ZodType;
  readonly schemaB?: z.ZodType;
}

interface Named {
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly access?: "read" | "admin";
}

/** The table that a path's id is looked up in; devices of Variant B include gateways. */
type IDs = IDTable | ((variant: Variant) => IDTable);

export interface ListSpec<Row> extends Named, Schemas {
  /** Filters in addition to the record id. Other fields that the items show are refused as filters. */
  readonly filters: Listing["filters"];
  /** Further spellings of a filter. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** The field, one of the filters, whose times `startTime` and `endTime` bound. */
  readonly range?: string;
  /** Fields of the record that nobody may filter by, shown or not. */
  readonly secret?: readonly string[];
  /** The ids of the record that the list belongs to, if the path names one. */
  readonly parent?: IDs;
  /** Present if the list waits for the series store. */
  readonly making?: Making;
  /** `parent` is the record id of the path, or 0 if there is none. */
  list(resourceRequest: ListRequest, request: PageRequest, parent: number): Promise<Page<Row>>;
  view(row: Row, context: ViewContext): object;
}

interface DetailSpec<Row> extends Named, Schemas {
  readonly ids: IDs;
  get(resourceRequest: ResourceRequest, id: number): Promise<Row>;
  view(row: Row, context: ViewContext): object;
  /** True if the record shows only a part of its content. */
  truncated?(row: Row): boolean;
}

interface RemoveSpec extends Omit<Named, "access"> {
  readonly access?: "write" | "admin" | "command";
  readonly ids: IDs;
  /** The ids of the record that the removed ones belong to, if the path names one. */
  readonly parent?: IDs;
  readonly errors?: readonly ErrorCode[];
  remove(resourceRequest: ResourceRequest, ids: readonly number[], parent: number): Promise<void>;
}

interface ResourceRoutes {
  list<Row>(spec: ListSpec<Row>): Route;
  detail<Row>(spec: DetailSpec<Row>): Route;
  remove(spec: RemoveSpec): Route;
  /** The record id that a path's id text means. @throws StoreError NOT_FOUND */
  find(resourceRequest: Finding, ids: IDs, text: string): Promise<number>;
}

interface ResourceDeps {
  readonly db: Db;
  /** The deployment's time zone. */
  readonly zone: Zone;
}

export function resourceRoutes({ db, zone }: ResourceDeps): ResourceRoutes {
  const resolve = (resourceRequest: Finding, ids: IDs, texts: readonly string[]) =>
    resolveIDs(
      db,
      typeof ids === "function" ? ids(resourceRequest.variant) : ids,
      resourceRequest.caller.tenant,
      texts,
    );
  const find = async (resourceRequest: Finding, ids: IDs, text: string) =>
    only(await resolve(resourceRequest, ids, [text]));
  const findParent = (resourceRequest: Finding, ids: IDs | undefined, params: { id: string } | undefined) =>
    ids === undefined || params === undefined ? 0 : find(resourceRequest, ids, params.id);

  return {
    find,
    list: <Row>(spec: ListSpec<Row>) => {
      const { aliases = {}, range } = spec;
      const fields = {
        filters: { ...ownID, ...spec.filters },
        aliases,
        ...(range === undefined ? {} : { range }),
      };
      const item = spec.schemaB === undefined ? spec.schema : z.union([spec.schema, spec.schemaB]);
      const refused = refusedParameters(fields, item, spec.secret);
      return route({
        ...named(spec),
        access: spec.access ?? "read",
        shape: {
          ...(spec.parent === undefined ? {} : { params: idParams }),
          query: listQuery(fields),
        },
        answer: { status: 200, schema: pageSchema(item) },
        ...(spec.making === undefined ? {} : { making: spec.making }),
        handle: async (input) => {
          refuseParameters(input.request.url, refused);
          const request = pageRequest(input.query, fields, zone);
          const rows = await spec.list(input, request, await findParent(input, spec.parent, input.params));
          const context = viewContext(input);
          return pageAnswer(rows, request, (row) => spec.view(row, context));
        },
      });
    },
    detail: <Row>(spec: DetailSpec<Row>) =>
      route({
        ...named(spec),
        access: spec.access ?? "read",
        shape: { params: idParams },
        answer: {
          status: 200,
          schema: spec.schemaB === undefined ? spec.schema : z.union([spec.schema, spec.schemaB]),
        },
        handle: async (input) => {
          const row = await spec.get(input, await find(input, spec.ids, input.params.id));
          const headers = spec.truncated?.(row) ? { Truncated: "true" } : {};
          return { status: 200, body: spec.view(row, viewContext(input)), headers };
        },
      }),
    remove: (spec: RemoveSpec) =>
      route({
        ...named(spec),
        access: spec.access ?? "write",
        shape: { ...(spec.parent === undefined ? {} : { params: idParams }), query: idsQuery },
        answer: { status: 204 },
        errors: ["DATA_NOT_FOUND", ...(spec.errors ?? ["REFERENCED_ERROR"])],
        method: "delete",
        handle: async (input) => {
          const parent = await findParent(input, spec.parent, input.params);
          await spec.remove(input, await resolve(input, spec.ids, idTexts(input.query)), parent);
          return { status: 204 };
        },
      }),
  };
}

function named({ path, tag, summary }: Omit<Named, "access">) {
  return { method: "get", path, tag, summary } as const;
}

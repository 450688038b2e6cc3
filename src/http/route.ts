/** The description of a route, for both the server and the reference. */
import type { z } from "@hono/zod-openapi";
import type { Share } from "../../store/metadata/dashboards/shares.js";
import type { RequestBody } from "./body.js";
import type { Access, ApiCaller } from "./caller.js";
import type { ErrorCode } from "./errors.js";
import type { Making, Reservation } from "./response-budget.js";
import type { Writing } from "./writing.js";

export const jsonType = "application/json; charset=utf-8";

/** What a handler returns; the frame adds the headers that every answer carries. */
export interface RouteAnswer {
  readonly status: 200 | 201 | 202 | 204 | 304;
  /** Bytes, a text or a stream are sent as they are, any other object as JSON. */
  readonly body?: object | string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Type of a text or stream; JSON otherwise. */
  readonly type?: string;
  /** Bytes that a stream made of data already in memory holds: fewer with each that is read. */
  readonly held?: number;
}

/** The two documented shapes of the interface: two views of the same records. */
export type Variant = "A" | "B";

interface RouteInput<Params, Query, Body> {
  readonly caller: ApiCaller;
  /** The share whose token was shown, for routes of that access, which have no caller. */
  readonly share: Share | null;
  readonly variant: Variant;
  /** How times and labels are to be written. */
  readonly writing: Writing;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: Request;
  /** The body, for a handler that reads it itself. */
  readonly upload: RequestBody;
  readonly address: string;
  /** Checks the caller's credential again, for a long-lived answer. @throws ApiError if it is no longer valid */
  readonly callerAgain: () => Promise<ApiCaller>;
  /** Whether the client's own connection is one of TLS. */
  readonly isSecure: () => boolean;
  /** For a handler that builds up a long answer: counts the bytes that it holds from then on. Null for a public route. */
  readonly hold: Reservation | null;
  /** Ends the connection, even if bytes wait to be read. */
  readonly hangUp: () => void;
}

export interface RouteShape {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
}

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export interface RouteSpec<S extends RouteShape> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  /** Its last parameter takes all that follows, slashes included. */
  readonly restOfPath?: true;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly shape?: S;
  /** Status and body of success, for the reference; several types if the caller chooses one. */
  readonly answer: {
    readonly status: RouteAnswer["status"];
    readonly schema?: z.ZodType;
    readonly type?: string | readonly string[];
    /** Text types that the caller may ask for instead. */
    readonly texts?: readonly string[];
  };
  readonly errors?: readonly ErrorCode[];
  /**
   * The stores that its answers wait for while they are made; by default the metadata and the journal. A POST that has
   * it is a query and no write.
   */
  readonly making?: Making;
  /** The possible bodies, for the reference, if the handler itself chooses the schema. */
  readonly accepts?: z.ZodType;
  /** A body that the handler itself reads, for the reference. */
  readonly upload?: { readonly type: string | readonly string[]; readonly schema: z.ZodType };
  handle(
    input: RouteInput<Output<S["params"]>, Output<S["query"]>, Output<S["body"]>>,
  ): Promise<RouteAnswer> | RouteAnswer;
}

/** How a path behaves in Variant B, if its request or its answer differs from Variant A's. */
type VariantB<S extends RouteShape> = Pick<RouteSpec<S>, "shape" | "answer" | "handle">;

export interface Route {
  readonly spec: RouteSpec<RouteShape>;
  readonly b: VariantB<RouteShape> | null;
}

/** Binds handlers to their schemas; the types of their input follow from them. */
export function route<const S extends RouteShape, const B extends RouteShape>(
  spec: RouteSpec<S>,
  b?: VariantB<B>,
): Route {
  return {
    spec: spec as unknown as RouteSpec<RouteShape>,
    b: (b as unknown as VariantB<RouteShape> | undefined) ?? null,
  };
}

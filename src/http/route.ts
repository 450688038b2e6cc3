/** One description of a route, for the server and for the reference. */
import type { z } from "@hono/zod-openapi";
import type { AnswerHold, Making } from "./answer-room.js";
import type { Access, Caller } from "./caller.js";
import type { ErrorCode } from "./errors.js";

export const jsonType = "application/json; charset=utf-8";

/** What a handler returns; the frame adds the headers that every answer carries. */
export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 304;
  /** Bytes, a text and a stream go as they are, any other object as JSON. */
  readonly body?: object | string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Type of a text or stream; JSON otherwise. */
  readonly type?: string;
  /** What a stream holds that is made of what is there already, bytes: less with each that is read. */
  readonly held?: number;
}

/** The two documented shapes of the interface: two views of the same records. */
export type Variant = "A" | "B";

interface RouteInput<Params, Query, Body> {
  readonly caller: Caller;
  readonly variant: Variant;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: Request;
  readonly address: string;
  /** For a handler that builds up a long answer: what it holds counts from then on. Null without a caller. */
  readonly hold: AnswerHold | null;
  /** Ends the connection, whatever waits on it to be read. */
  readonly hangUp: () => void;
}

export interface Shape {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
}

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export interface RouteSpec<S extends Shape> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  readonly access: Access;
  readonly tag: string;
  readonly summary: string;
  readonly shape?: S;
  /** Status and body of success, for the reference; several types where the caller chooses one. */
  readonly answer: {
    readonly status: Answer["status"];
    readonly schema?: z.ZodType;
    readonly type?: string | readonly string[];
    /** Text types that the caller may ask for instead. */
    readonly texts?: readonly string[];
  };
  readonly errors?: readonly ErrorCode[];
  /** What its answers wait for while they are made; the default is the metadata and the journal. */
  readonly making?: Making;
  /** What the body may be, for the reference, where the handler chooses its schema by itself. */
  readonly accepts?: z.ZodType;
  /** A body that the handler reads by itself, for the reference. */
  readonly upload?: { readonly type: string | readonly string[]; readonly schema: z.ZodType };
  handle(
    input: RouteInput<Output<S["params"]>, Output<S["query"]>, Output<S["body"]>>,
  ): Promise<Answer> | Answer;
}

/** What a path does in Variant B, where its request or its answer differs from Variant A's. */
type VariantB<S extends Shape> = Pick<RouteSpec<S>, "shape" | "answer" | "handle">;

export interface Route {
  readonly spec: RouteSpec<Shape>;
  readonly b: VariantB<Shape> | null;
}

/** Binds handlers to their schemas; the types of their input follow from them. */
export function route<const S extends Shape, const B extends Shape>(
  spec: RouteSpec<S>,
  b?: VariantB<B>,
): Route {
  return {
    spec: spec as unknown as RouteSpec<Shape>,
    b: (b as unknown as VariantB<Shape> | undefined) ?? null,
  };
}

import { z } from "@hono/zod-openapi";
import { type Route, type RouteAnswer, route } from "../http/route.js";
import { documentFile, libraryFile, partsPath, type ServedFile, served } from "./files.js";
import { contentSecurityPolicy, pageHtml, pageScript, pageStyle } from "./page.js";

const tag = "Service";

interface Served {
  readonly path: string;
  readonly summary: string;
  readonly type: string;
  readonly schema: z.ZodType;
  readonly headers?: Readonly<Record<string, string>>;
  file(): Promise<ServedFile>;
}

const ours = (text: string) => served(async () => Buffer.from(text));
const page = { "Content-Security-Policy": contentSecurityPolicy, "Referrer-Policy": "no-referrer" };
const javascript = "text/javascript; charset=utf-8";
const css = "text/css; charset=utf-8";

/** The parts of the page: path, type and content. */
const parts: readonly (readonly [string, string, () => Promise<ServedFile>])[] = [
  ["page.js", javascript, ours(pageScript)],
  ["page.css", css, ours(pageStyle)],
  ["swagger-ui.js", javascript, libraryFile("swagger-ui-bundle.js")],
  ["swagger-ui.css", css, libraryFile("swagger-ui.css")],
  ["favicon.png", "image/png", libraryFile("favicon-32x32.png")],
];

/**
 * The API reference: the document and a page over it. `make` makes the document if no build has written it; `basePath`
 * is the prefix of paths behind a proxy.
 */
export function referenceRoutes(make: () => object, basePath: string): Route[] {
  return [
    serve({
      path: "/openapi.json",
      summary: "This interface as OpenAPI 3.1",
      type: "application/json; charset=utf-8",
      schema: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }).openapi("OpenApi", {
        example: { openapi: "3.1.0", paths: {} },
      }),
      file: documentFile(make, basePath),
    }),
    serve({
      path: "/reference",
      summary: "This page",
      type: "text/html; charset=utf-8",
      schema: z.string().openapi({ example: "<!doctype html>…" }),
      headers: page,
      file: ours(pageHtml),
    }),
    ...parts.map(([name, type, file]) =>
      serve({ path: `${partsPath}${name}`, summary: name, type, schema: z.string(), file }),
    ),
  ];
}

function serve({ path, summary, type, schema, headers = {}, file }: Served): Route {
  return route({
    method: "get",
    path,
    access: "public",
    tag,
    summary,
    answer: { status: 200, schema, type: type.split(";")[0] ?? type },
    handle: async ({ request }): Promise<RouteAnswer> => {
      const { bytes, etag } = await file();
      const all = {
        ETag: etag,
        "Cache-Control": "no-cache",
        "X-Content-Type-Options": "nosniff",
        ...headers,
      };
      if (request.headers.get("if-none-match") === etag) return { status: 304, headers: all };
      return { status: 200, body: bytes, type, headers: all };
    },
  });
}

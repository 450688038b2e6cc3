/** Serves the console: one page for every path below /console/, and the files that it loads. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { Context, Hono } from "hono";
import { sharedPages } from "../dashboards/shared-page.js";
import { pageHeaders } from "./page.js";

/** Where the build has put it; beside the bundled service it is in the same place. */
const folder = new URL("../../console/", import.meta.url);

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".bin": "application/octet-stream",
};
/** In the order of preference. */
const packings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;
const week = 604_800;

type Bytes = Uint8Array<ArrayBuffer>;

interface Loaded {
  readonly page: { readonly bytes: Bytes; readonly etag: string };
  /** By name, packed ones with their ending. */
  readonly assets: ReadonlyMap<string, Bytes>;
}

/** Read once, when it is first asked for; null where only tsc has run. */
async function load(basePath: string): Promise<Loaded | null> {
  try {
    const text = await readFile(new URL("index.html", folder), "utf8");
    const page = new TextEncoder().encode(text.replaceAll(/(?<=(?:href|src)=")(?=\/)/g, basePath));
    const names = await readdir(new URL("assets/", folder));
    const assets = await Promise.all(
      names.map(async (name) => {
        return [name, Uint8Array.from(await readFile(new URL(`assets/${name}`, folder)))] as const;
      }),
    );
    const etag = `"${digestOf(page)}"`;
    return { page: { bytes: page, etag }, assets: new Map(assets) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

const digestOf = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("base64url").slice(0, 22);

/**
 * @param basePath the prefix of paths behind a proxy, which the page's addresses have
 * @param framersOf origins whose pages may frame the page of a share, which its digest names
 */
export function mountConsole(
  app: Hono,
  basePath: string,
  framersOf: (digest: string) => Promise<readonly string[]>,
): void {
  let loading: Promise<Loaded | null> | null = null;
  const loaded = (): Promise<Loaded | null> => {
    loading ??= load(basePath);
    return loading;
  };

  app.get("/console/assets/:name", async (context) => {
    const name = context.req.param("name");
    const type = types[extname(name)];
    const assets = (await loaded())?.assets;
    const plain = assets?.get(name);
    if (type === undefined || plain === undefined) return context.notFound();
    const accepted = (context.req.header("accept-encoding") ?? "").split(",").map((one) => one.trim());
    const packing = packings.find(
      ([coding, ending]) => accepted.includes(coding) && assets?.has(name + ending),
    );
    const bytes = (packing && assets?.get(name + packing[1])) ?? plain;
    return context.body(bytes, 200, {
      "Content-Type": type,
      // A changed file has another name.
      "Cache-Control": `public, max-age=${52 * week}, immutable`,
      "X-Content-Type-Options": "nosniff",
      "Cross-Origin-Resource-Policy": "same-origin",
      // The policy of a worker, which has no page to take one from.
      "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'",
      Vary: "Accept-Encoding",
      ...(packing === undefined ? {} : { "Content-Encoding": packing[0] }),
    });
  });

  async function answerPage(context: Context, framers: readonly string[] = []): Promise<Response> {
    const page = (await loaded())?.page;
    if (page === undefined) return context.notFound();
    // A browser may have cached the page with other framers, so its ETag depends on them.
    const etag = framers.length === 0 ? page.etag : page.etag.replace(/"$/, `-${digestOf(framers.join())}"`);
    const headers = { ...pageHeaders(framers), ETag: etag, "Cache-Control": "no-cache" };
    if (context.req.header("if-none-match") === etag) return context.body(null, 304, headers);
    return context.body(page.bytes, 200, { ...headers, "Content-Type": "text/html; charset=utf-8" });
  }

  app.get(`${sharedPages}/:digest`, async (context) => {
    const digest = context.req.param("digest");
    // The router knows an address by any of its spellings, the application by one: by another it would show more than
    // the share, in somebody's frame.
    const isPlain = new URL(context.req.url).pathname === `${sharedPages}/${digest}`;
    // What cannot be known now is framed by nobody.
    return answerPage(context, isPlain ? await framersOf(digest).catch(() => []) : []);
  });
  app.get("/console/*", (context) => answerPage(context));

  const home = `${basePath}/console/`;
  app.get("/console", (context) => context.redirect(home));
  app.get("/", (context, next) =>
    (context.req.header("accept") ?? "").includes("text/html") ? context.redirect(home) : next(),
  );
}

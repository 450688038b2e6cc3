import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { ApiError } from "./errors.js";
import type { RouteAnswer } from "./route.js";

/** RFC 6266: the plain name for old clients, and the full one in UTF-8 (RFC 8187) if it differs. */
export function attachment(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]/g, "_").replaceAll(/["\\%]/g, "_");
  const coded = encodeURIComponent(name).replaceAll(
    /['()*!]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"${plain === name ? "" : `; filename*=UTF-8''${coded}`}`;
}

/** Streams a file as a download. @throws ApiError DATA_NOT_FOUND */
export async function fileAnswer(path: string, name: string, type: string): Promise<RouteAnswer> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    throw new ApiError("DATA_NOT_FOUND", "the file is no longer there");
  });
  const { size } = await file.stat();
  return {
    status: 200,
    type,
    // Limited to the measured size, so that the announced length is the length sent.
    body: Readable.toWeb(
      file.createReadStream(size === 0 ? {} : { end: size - 1 }),
    ) as ReadableStream<Uint8Array>,
    headers: {
      "Content-Length": String(size),
      "Content-Disposition": attachment(name),
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    },
  };
}

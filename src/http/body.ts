import { codingOf } from "../../ingest/transports/http/requests/content-coding.js";
import { ApiError } from "./errors.js";
import { requireShallow } from "./json-depth.js";

export const jsonBytesMax = 1024 * 1024;
/** For a body whose sender need not authenticate: a login with every character written as an escape. */
export const publicBodyBytesMax = 16 * 1024;

/**
 * The body as bytes. @throws ApiError PAYLOAD_TOO_LARGE as soon as it is known to be larger, BAD_REQUEST if it is cut
 * off
 */
async function readBody(request: Request, bytesMax: number): Promise<Buffer> {
  const tooLarge = () => new ApiError("PAYLOAD_TOO_LARGE", `the body is larger than ${bytesMax} bytes`);
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > bytesMax) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // The server lets no more through than the length says; read so, no stream need be made for it.
    if (length !== null) return Buffer.from(await request.arrayBuffer());
    for await (const chunk of request.body ?? []) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("BAD_REQUEST", "the body is broken or incomplete");
  }
  return Buffer.concat(chunks);
}

const unpacked = { "Accept-Encoding": "identity" };

/** @throws ApiError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, BAD_REQUEST, PARAMETER_INVALID if nested too deeply */
export async function readJsonBody(request: Request, bytesMax = jsonBytesMax): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "the body must be application/json");
  }
  if (codingOf(request.headers.get("content-encoding")) !== "identity")
    throw new ApiError(
      "UNSUPPORTED_MEDIA_TYPE",
      "a body of JSON must have no Content-Encoding",
      {},
      unpacked,
    );
  const bytes = await readBody(request, bytesMax);
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError("BAD_REQUEST", "the body is not JSON");
  }
  requireShallow(json);
  return json;
}

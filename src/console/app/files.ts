/** Files that go to the API and come from it, and how far they have come. */
import { ApiFailure, formatPath, ownHeaders, type Query, readFailure, sessionEnded } from "./api.js";
import { api } from "./base.js";

/** By then the browser has begun to read what is saved. */
const readWithinMs = 60_000;

/** Longest name of a saved file, in characters. */
const nameLength = 120;

interface UploadOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Receives the share that has been sent, 0 to 1. */
  onProgress(share: number): void;
}

/** Sends a file and reports its progress. @throws ApiFailure, or the abort */
export function upload<T>(path: string, body: Blob | FormData, options: UploadOptions): Promise<T> {
  const { headers, signal, onProgress } = options;
  // `fetch` does not report the progress of an upload.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open("POST", api + path);
    for (const [name, value] of Object.entries({ ...ownHeaders(), ...headers }))
      request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onerror = () => reject(new ApiFailure(0, "NO_ANSWER", "the service does not answer"));
    request.onabort = () => reject(signal.reason);
    request.onload = () => {
      const { status, statusText, responseText } = request;
      if (status >= 200 && status < 300) return resolve(JSON.parse(responseText) as T);
      if (status === 401) sessionEnded();
      const retryAfter = request.getResponseHeader("retry-after");
      const answer = new Response(responseText, {
        status,
        statusText,
        headers: retryAfter === null ? {} : { "retry-after": retryAfter },
      });
      readFailure(answer).then(reject, reject);
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
  });
}

/** A file of any size, as a type that is not JSON. @throws ApiFailure, or the abort */
export async function receive(
  path: string,
  query: Query,
  type: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<Blob> {
  try {
    const headers = { ...ownHeaders(), Accept: type };
    const response = await fetch(formatPath(api + path, query), { headers, signal, redirect: "error" });
    if (!response.ok) {
      if (response.status === 401) sessionEnded();
      throw await readFailure(response);
    }
    const parts: BlobPart[] = [];
    let bytes = 0;
    for (const reader = response.body?.getReader(); reader !== undefined; ) {
      const { value, done } = await reader.read();
      if (done) break;
      parts.push(value);
      bytes += value.length;
      onBytes(bytes);
    }
    return new Blob(parts, { type });
  } catch (error) {
    if (signal.aborted || error instanceof ApiFailure) throw error;
    throw new ApiFailure(0, "NO_ANSWER", "the service does not answer");
  }
}

/** Puts it where the browser puts downloads. */
export function saveFile(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), readWithinMs);
}

/** Text under a name that file systems take. */
export function saveText(text: string, type: string, name: string): void {
  saveFile(new Blob([text], { type }), name.replaceAll(/[^\p{L}\p{N}._,+-]+/gu, "-").slice(-nameLength));
}

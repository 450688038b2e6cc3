/** Settings about the addresses at which browsers reach the service. */

const basePathForm = /^(?:\/[A-Za-z0-9._~-]+)+$/;
const basePathCharactersMax = 200;
/** First segments of the service's own paths; `console` may stand nowhere, because its pages find the prefix by it. */
export const ownRoots: readonly string[] = [
  ...["api", "reference", "openapi.json", "metrics", "healthz", "readyz", "task_status"],
  ...["health", "ping", "query", "write", "ws"],
];

/** Finds a fault of a prefix; null: it is valid. */
export function basePathProblem(text: string): string | null {
  const segments = text.split("/").slice(1);
  if (!basePathForm.test(text) || text.length > basePathCharactersMax || segments.some(isDots))
    return "must begin with a slash and end without one, such as /tidemark: letters, digits, dots, hyphens, underscores and ~";
  if (segments.includes("console") || ownRoots.includes(segments[0] ?? ""))
    return `must not begin with a path of the service (${ownRoots.join(", ")}) or hold console`;
  return null;
}

const isDots = (segment: string): boolean => /^\.+$/.test(segment);

/** As browsers send it; it will stand in headers, so its host holds neither wildcards nor what ends a directive. */
export function isOrigin(text: string): boolean {
  const hasPlainHost = /^https?:\/\/[a-z0-9.:[\]-]+$/.test(text);
  return hasPlainHost && URL.canParse(text) && new URL(text).origin === text;
}

/** Separated by commas; null: some are none. */
export function readOrigins(text: string): readonly string[] | null {
  const origins = text.split(",").map((one) => one.trim());
  return origins.every(isOrigin) ? [...new Set(origins)] : null;
}

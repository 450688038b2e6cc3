/**
 * The prefix under which a proxy shows the service, from the address of a page or of the worker: both are at
 * `…/console/…`. Empty without a proxy that has one.
 */
export const base = readPrefix(
  (globalThis as { readonly location?: { readonly pathname: string } }).location,
);

function readPrefix({ pathname } = { pathname: "" }): string {
  return /^(.*?)\/console(?:\/|$)/.exec(pathname)?.[1] ?? "";
}

/** Where the API is. */
export const api = `${base}/api/v1`;

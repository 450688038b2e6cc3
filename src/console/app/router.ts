/** The address is the state: paths below /console, and parameters of the query. */
import { computed, signal } from "@preact/signals";
import { base as prefix } from "./base.js";

const base = `${prefix}/console`;

interface Place {
  /** Below the console, beginning with a slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

const current = signal<Place>(parsePlace(location));
export const path = computed(() => current.value.path);
export const query = computed(() => current.value.query);

function parsePlace({ pathname, search }: Pick<Location, "pathname" | "search">): Place {
  const path = pathname.startsWith(base) ? pathname.slice(base.length).replace(/\/+$/, "") : "";
  return { path: path === "" ? "/" : path, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Follows the browser's history, and takes over the links that lead to the console. */
export function startRouter(): void {
  addEventListener("popstate", () => {
    current.value = parsePlace(location);
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest("a");
    if (
      link === null ||
      link === undefined ||
      link.target !== "" ||
      link.hasAttribute("download") ||
      link.origin !== location.origin
    )
      return;
    if (link.pathname !== base && !link.pathname.startsWith(`${base}/`)) return;
    // A place on the same page is the browser's.
    if (link.hash !== "" && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname.slice(base.length) + link.search);
  });
}

/** The address of a place of the console, for links. */
export function formatHref(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((one): one is [string, string] => (one[1] ?? "") !== "");
  return base + path + (given.length === 0 ? "" : `?${new URLSearchParams(given)}`);
}

/** Follows a link as a click on it would. */
export function goTo(href: string, options: { readonly replace?: boolean } = {}): void {
  go(href.slice(base.length), options);
}

function go(to: string, { replace = false } = {}): void {
  const url = new URL(base + to, location.origin);
  // The token of a share stands there, whatever is chosen on its page.
  if (url.pathname === location.pathname) url.hash = location.hash;
  const isOtherPage = url.pathname !== location.pathname;
  if (replace || joins) history.replaceState(history.state, "", url);
  else history.pushState(null, "", url);
  // A change within the same page keeps the scroll position.
  if (isOtherPage) scrollTo(0, 0);
  current.value = parsePlace(url);
}

/** A change within this time after the last one belongs to the same gesture. */
const gestureMs = 2000;
let gesture = { at: Number.NEGATIVE_INFINITY, href: "" };
let joins = false;

/** Changes that a hand makes rest by rest are one step of the history: Back undoes the whole of it. */
export function asOneGesture(change: () => void): void {
  joins = performance.now() - gesture.at < gestureMs && gesture.href === location.href;
  try {
    change();
  } finally {
    joins = false;
  }
  gesture = { at: performance.now(), href: location.href };
}

/** Stores state with this history entry that its URL does not have, for a user who goes back to it. */
export function remember(name: string, value: unknown): void {
  history.replaceState({ ...(history.state as object | null), [name]: value }, "");
}

export function remembered(name: string): unknown {
  return (history.state as Readonly<Record<string, unknown>> | null)?.[name];
}

/** Changes parameters of the address; undefined takes one away. What is typed letter by letter makes no history. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  { replace = true } = {},
): void {
  const query = { ...current.value.query, ...changes };
  const given = Object.entries(query).filter((one): one is [string, string] => (one[1] ?? "") !== "");
  go(current.value.path + (given.length === 0 ? "" : `?${new URLSearchParams(given)}`), { replace });
}

/** The parts of the path that a pattern names, as in `/devices/:id`; null if it is another path. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const own = given[i] ?? "";
    if (part.startsWith(":")) found[part.slice(1)] = decoded(own);
    else if (part !== own) return null;
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

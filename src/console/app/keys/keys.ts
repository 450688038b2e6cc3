/** Keys that work on every page, as long as nothing is being typed. */
import { formatHref, goTo, path } from "../router.js";
import { closeOverlay, overlay } from "../search/open.js";
import { sessionState } from "../session.js";
import { entries } from "../shell/Rail.js";

/** After `g`: where each letter leads. */
export const places: Readonly<Record<string, string>> = {
  o: "/",
  d: "/devices",
  p: "/products",
  e: "/explore",
  b: "/dashboards",
  a: "/alerts",
  c: "/commands",
  m: "/map",
  s: "/system",
};
/** The second letter comes within this time. */
const pairMs = 1500;

let goSince = Number.NEGATIVE_INFINITY;

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || sessionState.value !== "in") return;
    if (isSearchKey(event)) {
      event.preventDefault();
      if (overlay.value === "search") closeOverlay();
      else if (document.querySelector("dialog[open]") === null) overlay.value = "search";
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (overlay.value !== null || isTyping(event.target) || document.querySelector("dialog[open]") !== null)
      return;
    if (act(event.key)) event.preventDefault();
  });
}

const isSearchKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === "k" && ctrlKey !== metaKey && !altKey && !shiftKey;

const typedInto = new Set(["text", "search", "password", "number", "email", "url", "tel", "date", "time"]);

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return typedInto.has(target.type) || target.type.startsWith("date");
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  );
}

/** Whether the key means anything here. */
function act(key: string): boolean {
  const isSecond = performance.now() - goSince < pairMs;
  goSince = Number.NEGATIVE_INFINITY;
  if (isSecond) {
    const to = places[key];
    if (to === undefined || !entries.some((one) => one.to === to)) return false;
    if (path.value !== to) goTo(formatHref(to));
    return true;
  }
  if (key === "g") {
    goSince = performance.now();
    return true;
  }
  if (key === "?") {
    overlay.value = "keys";
    return true;
  }
  return key === "/" ? focusOn("main input[type=search]") : press(key);
}

function focusOn(selector: string): boolean {
  const input = document.querySelector<HTMLInputElement>(selector);
  input?.focus();
  input?.select();
  return input !== null;
}

/** Uses the control of the page that names the key as its own. */
function press(key: string): boolean {
  const control = [...document.querySelectorAll<HTMLElement>("main [aria-keyshortcuts]")].find(
    (one) => one.getAttribute("aria-keyshortcuts") === key,
  );
  if (control === undefined) return false;
  control.focus();
  // The key only focuses a toggle button: it does not choose for the user.
  if (control instanceof HTMLButtonElement && !control.hasAttribute("aria-pressed")) control.click();
  return true;
}

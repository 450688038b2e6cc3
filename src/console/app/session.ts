/** The user who is logged in. The token is in a cookie that no script reads. */
import { batch, signal } from "@preact/signals";
import { ApiFailure, call, whenLoggedOut } from "./api.js";
import { loadZone, readZonesBy, type ShownZone } from "./charts/zone.js";
import { missedAt } from "./live/missed.js";
import { query } from "./router.js";

export interface Me {
  readonly userIntID: number;
  readonly username: string;
  readonly tenantID: string;
  readonly role: "admin" | "operator" | "viewer";
  readonly rights: readonly Right[];
  readonly isDeployment: boolean;
  readonly timezone: string;
  readonly variant: "A" | "B";
  readonly version: string;
  /** The tiles below the devices of a map; null: outlines alone. */
  readonly mapTiles: MapTiles | null;
}

export interface MapTiles {
  readonly attribution: string;
  /** How they are made fit for a dark page. */
  readonly dark: "invert" | "dim";
}

type Right = "read" | "write" | "command" | "admin";

/** ended: somebody was logged in, and what is on the screen is kept until he is again. */
type SessionState = "asking" | "away" | "out" | "in" | "ended";

export const me = signal<Me | null>(null);
export const sessionState = signal<SessionState>("asking");

/** Whether the user operates the deployment: an administrator of its own tenant. */
export const isOperating = (): boolean =>
  me.value?.isDeployment === true && me.value.rights.includes("admin");

/** Nobody is logged in any more, as some answer has said. */
export function sessionEnded(): void {
  sessionState.value = me.value === null ? "out" : "ended";
}

whenLoggedOut(sessionEnded);

/** Sends the browser's other windows the number of the user who has logged in; null: they have logged out. */
const windows = "BroadcastChannel" in globalThis ? new BroadcastChannel("tidemark session") : null;

/** The session is the browser's: what one window does to it is true for all. */
export function followOtherWindows(): void {
  if (windows === null) return;
  windows.onmessage = ({ data }: MessageEvent<number | null>) => {
    if (data === null) leave();
    else if (me.value !== null && me.value.userIntID !== data) location.reload();
    else if (sessionState.value !== "in") void openSession();
  };
}

readZonesBy((name) =>
  call<ShownZone>("GET", `/timezones/${encodeURIComponent(name)}`).catch((error: unknown) => {
    if (error instanceof ApiFailure && error.status === 404) return null;
    throw error;
  }),
);

/** Nothing is shown without the rules of its zone: the deployment's, and the one that the address names. */
async function readMe(): Promise<Me> {
  const found = await call<Me>("GET", "/me");
  const { tz } = query.value;
  await Promise.all([loadZone(found.timezone), tz && loadZone(tz).catch(() => false)]);
  return found;
}

/** Asks who is logged in, until the service answers. */
export async function openSession(): Promise<void> {
  for (let delayMs = 500; ; delayMs = Math.min(delayMs * 2, 5000)) {
    try {
      enter(await readMe());
      return;
    } catch (error) {
      // The page of a user who was logged in stays, whatever the answer is.
      const isKept = me.value !== null;
      if (!(error instanceof ApiFailure) || !error.isTransient) {
        if (!isKept) sessionState.value = "out";
        return;
      }
      if (!isKept) sessionState.value = "away";
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

/** @throws ApiFailure */
export async function logIn(username: string, password: string): Promise<void> {
  await call("POST", "/login", { body: { username, password, cookie: true } });
  const found = await readMe();
  windows?.postMessage(found.userIntID);
  enter(found);
}

function enter(found: Me): void {
  const before = me.value;
  // Another user must not see what the one before has left on the screen: nothing of it may go on until it is gone.
  if (before !== null && before.userIntID !== found.userIntID) return location.reload();
  batch(() => {
    // Requests that were refused since then are sent again.
    if (sessionState.value === "ended") missedAt.value++;
    me.value = found;
    sessionState.value = "in";
  });
}

/** Only the service can remove the cookie: without its answer the user stays logged in. @throws ApiFailure */
export async function logOut(): Promise<void> {
  await call("POST", "/logout").catch((error: unknown) => {
    if (!(error instanceof ApiFailure) || error.status !== 401) throw error;
  });
  windows?.postMessage(null);
  leave();
}

/** What this tab has kept goes too; drafts stay in the browser, for the same user alone. */
function leave(): void {
  for (const key of Object.keys(sessionStorage)) {
    if (key.startsWith("tidemark.")) sessionStorage.removeItem(key);
  }
  batch(() => {
    me.value = null;
    sessionState.value = "out";
  });
}

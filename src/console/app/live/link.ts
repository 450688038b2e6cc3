/** This window's link to the owner of the streams: the worker that all windows share, or itself if there is none. */
import { liveWorker } from "tidemark:live-worker";
import { effect, signal } from "@preact/signals";
import { base } from "../base.js";
import { me, sessionEnded, sessionState } from "../session.js";
import { missedAt } from "./missed.js";
import type { FromWindow, Item, LinkState, Topic, ToWindow, Want } from "./protocol.js";

/** One part of a page that listens. */
interface Listener {
  readonly want: Want;
  receive(topic: Topic, items: readonly Item[]): void;
  skipped(count: number): void;
}

/** Null: not known yet. */
export const linkState = signal<LinkState | null>(null);

/** The wants that no stream covers, or not yet, each as JSON. */
const leftWants = signal<ReadonlySet<string>>(new Set());

const listeners = new Set<Listener>();
const isWanted = (want: string): boolean => [...listeners].some((one) => JSON.stringify(one.want) === want);

/** Whether live events of this arrive now. A part that is drawn for the first time does not listen yet. */
export function isServed(want: Want): boolean {
  const text = JSON.stringify(want);
  return linkState.value === "on" && !leftWants.value.has(text) && isWanted(text);
}

const beatMs = 20_000;
/** What parts of a page want is said together. */
const togetherMs = 10;

let send: ((message: FromWindow) => void) | null = null;
let isSaying = false;

export function listen(listener: Listener): () => void {
  const want = JSON.stringify(listener.want);
  const isNew = !isWanted(want);
  listeners.add(listener);
  // It is not covered until the owner of the streams has answered that a stream brings it.
  if (isNew) leftWants.value = new Set([...leftWants.value, want]);
  sayLater();
  return () => {
    listeners.delete(listener);
    sayLater();
  };
}

function sayLater(): void {
  if (isSaying) return;
  isSaying = true;
  setTimeout(() => {
    isSaying = false;
    say();
  }, togetherMs);
}

function say(): void {
  const user = sessionState.value === "in" ? (me.value?.userIntID ?? null) : null;
  if (user === null) send?.({ user: null });
  else send?.({ user, wants: [...listeners].map(({ want }) => want) });
}

function hear(message: ToWindow): void {
  if (message.kind === "state") {
    const before = linkState.value;
    linkState.value = message.state;
    if (message.state === "on" && before !== null && before !== "on") missedAt.value++;
  } else if (message.kind === "gap") missedAt.value++;
  else if (message.kind === "left") setLeft(message.wants.map((want) => JSON.stringify(want)));
  else if (message.kind === "loggedOut") sessionEnded();
  else for (const one of listeners) hand(one, message);
}

/** Each beat is answered: what stays as it is draws nothing again. */
function setLeft(wants: readonly string[]): void {
  const known = leftWants.value;
  if (wants.length !== known.size || wants.some((want) => !known.has(want))) leftWants.value = new Set(wants);
}

function hand(listener: Listener, message: Extract<ToWindow, { kind: "told" | "skipped" }>): void {
  if (message.kind === "skipped") listener.skipped(message.count);
  else if (listener.want.topics.includes(message.topic)) listener.receive(message.topic, message.items);
}

/** From now on there is a link while somebody is logged in. */
export function startLive(): void {
  void openLink().then((found) => {
    send = found;
    effect(() => {
      if (sessionState.value !== "in") linkState.value = null;
      say();
    });
    setInterval(say, beatMs);
  });
  addEventListener("pagehide", () => send?.({ user: null }));
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    missedAt.value++;
    say();
  });
}

async function openLink(): Promise<(message: FromWindow) => void> {
  if (!("SharedWorker" in globalThis)) return ownLink();
  const worker = new SharedWorker(scriptUrl(base + liveWorker), { name: "tidemark live", type: "module" });
  worker.port.onmessage = ({ data }: MessageEvent<ToWindow>) => hear(data);
  // A browser that does not let the worker run, in a private window for instance.
  worker.onerror = () => {
    void ownLink().then((found) => {
      send = found;
      say();
    });
  };
  return (message) => worker.port.postMessage(message);
}

async function ownLink(): Promise<(message: FromWindow) => void> {
  const { createHub } = (await import(base + liveWorker)) as typeof import("./worker.js");
  const hub = createHub(1);
  const window = { send: hear };
  // Each window takes one of the six connections that a browser has to a host: a hidden one takes none.
  document.addEventListener("visibilitychange", say);
  return (message) => hub.hear(window, document.hidden ? { user: null } : message);
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

/** The page's policy lets no text be the address of a script unless it is said to be one. */
function scriptUrl(url: string): string {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes };
  return (
    trustedTypes?.createPolicy("tidemark", { createScriptURL: (one) => one }).createScriptURL(url) ?? url
  );
}

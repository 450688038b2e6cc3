/** Holds the streams of all windows: as few as bring what they want, each open once. */
import {
  type FromWindow,
  type Item,
  isWanted,
  type LinkState,
  type Topic,
  type ToWindow,
  type Want,
} from "./protocol.js";
import { bring, pathOf, type Question, questionsOf } from "./questions.js";
import { type Loss, openStream, type Stream } from "./stream.js";

export interface Window {
  tell(message: ToWindow): void;
}

interface Hub {
  hear(from: Window, said: FromWindow): void;
}

interface Attending {
  readonly wants: readonly Want[];
  readonly heardAt: number;
}

interface Running {
  readonly question: Question;
  readonly stream: Stream;
  state: LinkState | "opening";
  /** When it was greeted last. */
  onSince: number;
}

/** Pages come and go: what is no longer wanted is still told of for a while. */
const shrinkMs = 10_000;
/** A page that comes says in one go what all of its parts want. */
const togetherMs = 30;
/** The old stream and the new one are both heard for so long: what is in one of them alone is not missed. */
const overlapMs = 1_000;
/** A browser lets the timers of hidden windows run once a minute. */
const silentMs = 150_000;
const lookMs = 30_000;

const topics: Readonly<Record<string, Topic>> = {
  points: "points",
  message: "messages",
  presence: "presence",
  alert: "alerts",
  command: "commands",
  overview: "overview",
};

export function createHub(): Hub {
  const windows = new Map<Window, Attending>();
  const running = new Map<string, Running>();
  const gone = new Set<string>();
  /** While two streams overlap: what has been told, as JSON. */
  let overlap: Set<string> | null = null;
  let user: number | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let told: LinkState | null = null;

  const everybody = (message: ToWindow): void => {
    for (const window of windows.keys()) window.tell(message);
  };
  const wantsOf = (all: Iterable<Attending>): Want[] =>
    [...all].flatMap(({ wants }) =>
      wants.map(({ topics: some, devices }) => ({
        topics: some,
        // An id with a comma cannot be asked for.
        devices: devices?.filter((one) => !gone.has(one) && !one.includes(",")) ?? null,
      })),
    );

  function later(ms: number): void {
    const at = performance.now() + ms;
    if (at >= timerAt) return;
    clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(() => {
      timerAt = Number.POSITIVE_INFINITY;
      settle();
    }, ms);
  }

  /** Opens what is missing, and closes what is too much once the rest has been greeted. */
  function settle(): void {
    const wanted = windows.size === 0 || user === null ? [] : questionsOf(wantsOf(windows.values()));
    const keys = new Set(wanted.map(pathOf));
    for (const question of wanted) if (!running.has(pathOf(question))) open(question);
    const old = [...running.keys()].filter((key) => !keys.has(key));
    if (old.length === 0 && overlap === null) return;
    if (![...keys].every(isSettled)) return later(overlapMs);
    for (const key of old) close(key);
    overlap = null;
    if (running.size === 0) told = null;
  }

  function isSettled(key: string): boolean {
    const one = running.get(key);
    return one?.state === "on" && performance.now() - one.onSince >= overlapMs;
  }

  function open(question: Question): void {
    if (running.size > 0) overlap ??= new Set();
    const key = pathOf(question);
    const stream = openStream(key, {
      event: (name, data) => event(name, data),
      connected: () => become(key, "on"),
      lost: (loss) => lose(key, question, loss),
    });
    running.set(key, { question, stream, state: "opening", onSince: 0 });
  }

  function close(key: string): void {
    running.get(key)?.stream.close();
    running.delete(key);
  }

  function closeAll(): void {
    for (const key of [...running.keys()]) close(key);
    overlap = null;
    told = null;
  }

  function become(key: string, state: LinkState): void {
    const one = running.get(key);
    if (one === undefined) return;
    one.state = state;
    if (state === "on") one.onSince = performance.now();
    tellState();
  }

  /** One that is opening says nothing yet: the last state is the one that is known. */
  function tellState(): void {
    const states = [...running.values()].map((one) => one.state);
    const worst = (["away", "refused", "on"] as const).find((one) => states.includes(one));
    if (worst === undefined || worst === told) return;
    told = worst;
    everybody({ kind: "state", state: worst });
  }

  function lose(key: string, question: Question, loss: Loss): void {
    if (loss === "away" || loss === "refused") become(key, loss);
    else if (loss === "loggedOut") {
      closeAll();
      user = null;
      everybody({ kind: "loggedOut" });
    } else {
      close(key);
      void findGone(question.devices ?? []).then(() => later(0));
    }
  }

  /** Asks of each device whether it is there. */
  async function findGone(devices: readonly string[]): Promise<void> {
    for (const one of devices) {
      const path = pathOf({ topics: ["points"], devices: [one] });
      const answer = await fetch(path, { method: "HEAD", cache: "no-store" }).catch(() => null);
      if (answer?.status === 404) gone.add(one);
    }
  }

  function event(name: string, data: unknown): void {
    if (name === "gap") return everybody({ kind: "gap" });
    if (name === "skipped")
      return everybody({ kind: "skipped", count: (data as { skipped: number }).skipped });
    const topic = topics[name];
    if (topic === undefined) return;
    const items = (Array.isArray(data) ? data : [data]).filter(isNew) as Item[];
    for (const [window, { wants }] of windows) {
      const own = items.filter((item) => wants.some((want) => isWanted(want, topic, item)));
      if (own.length > 0) window.tell({ kind: "told", topic, items: own });
    }
  }

  function isNew(item: unknown): boolean {
    if (overlap === null) return true;
    const text = JSON.stringify(item);
    const isKnown = overlap.has(text);
    overlap.add(text);
    return !isKnown;
  }

  setInterval(() => {
    const since = performance.now() - silentMs;
    for (const [window, { heardAt }] of windows) if (heardAt < since) leave(window);
  }, lookMs);

  function leave(window: Window): void {
    windows.delete(window);
    later(windows.size === 0 ? togetherMs : shrinkMs);
  }

  return {
    hear: (window, { user: theirs, wants }) => {
      if (wants === undefined) return leave(window);
      const isNewcomer = !windows.has(window);
      windows.set(window, { wants, heardAt: performance.now() });
      // The cookie is the browser's: what was asked with the one before is not theirs.
      if (theirs !== user) {
        closeAll();
        gone.clear();
        user = theirs;
      } else if (isNewcomer && told !== null) window.tell({ kind: "state", state: told });
      const questions = [...running.values()].map(({ question }) => question);
      const isBrought =
        questions.length > 0 && wantsOf([{ wants, heardAt: 0 }]).every((want) => bring(questions, want));
      later(isBrought ? shrinkMs : togetherMs);
    },
  };
}

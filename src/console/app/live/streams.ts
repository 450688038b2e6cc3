/** The streams that run. Where two may, a new one is heard beside the old one until it is sure. */

import { formatStreamPath, type Question } from "./plan-streams.js";
import type { LinkState } from "./protocol.js";
import { createRecent } from "./recent.js";
import type { Loss, openStream, Stream } from "./stream.js";

/** The old stream and the new one are both heard for so long: what is in one of them alone is not missed. */
const overlapMs = 1_000;
/** An old stream is given up after so long, even if the new one is not there yet. */
const overlapMaxMs = 5_000;

/** What the holder of streams needs of its surroundings. */
export interface Surroundings {
  readonly open: typeof openStream;
  /** Whether there is such a device, by deviceID. */
  isThere(device: string): Promise<boolean>;
  now(): number;
  /** Returns what calls it off. */
  after(ms: number, act: () => void): () => void;
}

interface StreamsHandlers {
  event(name: string, item: unknown, isNew: (item: unknown) => boolean): void;
  state(state: LinkState): void;
  /** All that are wanted have been greeted. */
  allOn(): void;
  /** One more of them has been. */
  greeted(): void;
  /** One that was heard is closed before those after it are there. */
  cut(): void;
  gone(devices: readonly string[]): void;
  loggedOut(): void;
}

interface Streams {
  readonly isOn: boolean;
  readonly isRunning: boolean;
  /** The worst of them; null: not known yet. */
  readonly state: LinkState | null;
  /** The requests of the streams that the service has greeted. */
  readonly heard: readonly Question[];
  want(questions: readonly Question[]): void;
  closeAll(): void;
}

interface Running {
  readonly question: Question;
  readonly stream: Stream;
  state: LinkState | "opening";
  /** When it was greeted last. */
  onSince: number;
  /** When it was no longer wanted. */
  oldSince: number | null;
}

export function createStreams(
  handlers: StreamsHandlers,
  streamsMax: number,
  { open, now, after }: Surroundings,
): Streams {
  /** In the order of their beginnings. */
  const running = new Map<string, Running>();
  const recent = createRecent(now);
  let wanted = new Map<string, Question>();
  let state: LinkState | null = null;
  let callOff = (): void => undefined;

  const wantedOnes = (): (Running | undefined)[] => [...wanted.keys()].map((key) => running.get(key));
  const areOn = (): boolean => wantedOnes().every((one) => one?.state === "on");

  function lookAfter(ms: number): void {
    callOff();
    callOff = after(ms, settle);
  }

  /** Opens what is missing, and closes what is too much once the rest has been greeted, or is not to be had. */
  function settle(): void {
    for (const [key, one] of running) one.oldSince = wanted.has(key) ? null : (one.oldSince ?? now());
    for (const [key, question] of wanted) if (!running.has(key)) begin(key, question);
    const old = [...running].filter(([, { oldSince }]) => oldSince !== null);
    if (old.length === 0) return;
    const isSure = wantedOnes().every((one) => one?.state === "on" && now() - one.onSince >= overlapMs);
    const isHopeless = wantedOnes().some((one) => one?.state === "away" || one?.state === "refused");
    for (const [key, { oldSince }] of old) {
      if (isSure) close(key);
      else if (isHopeless || now() - (oldSince ?? 0) >= overlapMaxMs) cut(key);
    }
    if ([...running.keys()].some((key) => !wanted.has(key))) lookAfter(overlapMs / 2);
    if (running.size === 0) state = null;
    else publishState();
  }

  function begin(key: string, question: Question): void {
    while (running.size >= streamsMax && closeOne());
    if (running.size > 0) recent.begin();
    const stream = open(key, {
      event: (name, data) => handlers.event(name, data, recent.isNew),
      connected: () => become(key, "on"),
      lost: (loss) => lose(key, question, loss),
    });
    running.set(key, { question, stream, state: "opening", onSince: 0, oldSince: null });
  }

  /** One that has not been greeted brings nothing: it goes first, then the oldest. */
  function closeOne(): boolean {
    const old = [...running].filter(([key]) => !wanted.has(key));
    const [key] = old.find(([, one]) => one.state !== "on") ?? old[0] ?? [];
    if (key === undefined) return false;
    cut(key);
    return true;
  }

  function cut(key: string): void {
    const wasHeard = running.get(key)?.state === "on";
    close(key);
    if (wasHeard) handlers.cut();
  }

  function close(key: string): void {
    running.get(key)?.stream.close();
    running.delete(key);
  }

  function closeAll(): void {
    callOff();
    for (const key of [...running.keys()]) close(key);
    wanted = new Map();
    state = null;
  }

  function become(key: string, next: LinkState): void {
    const one = running.get(key);
    if (one === undefined) return;
    one.state = next;
    if (next === "on") one.onSince = now();
    settle();
    publishState();
    if (next === "on") handlers.greeted();
    if (areOn()) handlers.allOn();
  }

  /** One that is opening says nothing yet: the last state is the one that is known. */
  function publishState(): void {
    const states = [...running.values()].map((one) => one.state);
    const worst = (["away", "refused", "on"] as const).find((one) => states.includes(one));
    if (worst === undefined || worst === state) return;
    state = worst;
    handlers.state(worst);
  }

  function lose(key: string, { devices }: Question, loss: Loss): void {
    if (loss === "away" || loss === "refused") return become(key, loss);
    if (loss === "loggedOut") {
      closeAll();
      return handlers.loggedOut();
    }
    close(key);
    handlers.gone(devices ?? []);
  }

  return {
    get isOn() {
      return areOn();
    },
    get isRunning() {
      return running.size > 0;
    },
    get state() {
      return state;
    },
    get heard() {
      return [...running.values()].filter((one) => one.state === "on").map(({ question }) => question);
    },
    want: (questions) => {
      wanted = new Map(questions.map((question) => [formatStreamPath(question), question]));
      settle();
    },
    closeAll,
  };
}

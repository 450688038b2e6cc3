/** Holds the streams of all windows: as few as bring what they want, each open once. */

import { bring, fitting, formatStreamPath, planStreams, type Question } from "./plan-streams.js";
import {
  type FromWindow,
  type Item,
  isWanted,
  type LinkState,
  type Topic,
  type ToWindow,
  type Want,
} from "./protocol.js";
import { openStream } from "./stream.js";
import { createStreams, type Surroundings } from "./streams.js";

export interface Window {
  send(message: ToWindow): void;
}

export interface Hub {
  hear(from: Window, said: FromWindow): void;
}

interface Attending {
  readonly user: number | null;
  readonly wants: readonly Want[];
  readonly heardAt: number;
  /** The wants last reported to the window as not covered by any stream, as JSON. */
  left: string;
}

/** Pages come and go: a want that has ended is still served for a while. */
const shrinkMs = 10_000;
/** A page that comes says in one go what all of its parts want. */
const togetherMs = 30;
/** A user who steps through devices wants only the one on which he stops. */
const restMs = 150;
/** A browser lets the timers of hidden windows run once a minute. */
const silentMs = 150_000;
const lookMs = 30_000;
/** A device that is made again under the same id is heard after so long at the latest. */
const goneMs = 60_000;
const goneAskedAtOnce = 8;
const againMs = 1_000;

const topics: Readonly<Record<string, Topic>> = {
  points: "points",
  message: "messages",
  presence: "presence",
  alert: "alerts",
  command: "commands",
  overview: "overview",
};

const ofBrowser: Surroundings = {
  open: openStream,
  isThere: async (device) => {
    const path = formatStreamPath({ topics: ["points"], devices: [device] });
    const answer = await fetch(path, { method: "HEAD" }).catch(() => null);
    return answer?.status !== 404;
  },
  now: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** @param streamsMax streams that may be open at once */
export function createHub(streamsMax: number, surroundings: Surroundings = ofBrowser): Hub {
  const { now, after } = surroundings;
  const windows = new Map<Window, Attending>();
  /** Windows that received nothing for a time: when they come back they have missed something. */
  const left = new WeakSet<Window>();
  const missing = new Set<Window>();
  const gone = new Map<string, number>();
  let user: number | null = null;
  let finding = 0;
  let callOffChange = (): void => undefined;
  let callOffShrink = (): void => undefined;

  const streams = createStreams(
    {
      event,
      state: (state: LinkState) => everybody({ kind: "state", state }),
      allOn: sendMissing,
      greeted: sendAllLeft,
      cut: () => {
        for (const [window, { wants }] of own()) {
          if (!wants.every((want) => bring(streams.heard, withoutGone(want)))) missing.add(window);
        }
      },
      gone: (devices) => void findGone(devices),
      loggedOut: () => {
        everybody({ kind: "loggedOut" });
        user = null;
      },
    },
    streamsMax,
    surroundings,
  );

  /** The windows of the user whose streams these are. */
  const own = (): [Window, Attending][] => [...windows].filter(([, one]) => one.user === user);
  function everybody(message: ToWindow): void {
    for (const [window] of own()) window.send(message);
  }
  const withoutGone = ({ topics: some, devices }: Want): Want => ({
    topics: some,
    devices: devices?.filter((one) => !gone.has(one)) ?? null,
  });

  function wanted(): Question[] {
    const all = own();
    if (user === null || all.length === 0) return [];
    const wants = all.flatMap(([, one]) => one.wants.map(withoutGone));
    // An id with a comma cannot be asked for.
    const askable = wants.map(({ topics: some, devices }) => ({
      topics: some,
      devices: devices?.filter((one) => !one.includes(",")) ?? null,
    }));
    return fitting(planStreams(askable), streamsMax);
  }

  function update(): void {
    callOffChange();
    callOffShrink();
    // Once it is known which devices are gone.
    if (finding > 0) return;
    streams.want(wanted());
    sendAllLeft();
    if (streams.isOn) sendMissing();
  }

  function sendAllLeft(): void {
    for (const [window, one] of own()) sendLeft(window, one);
  }

  /** A window must query what no stream brings, or not yet. A window that has sent its wants always gets an answer. */
  function sendLeft(window: Window, one: Attending, isAsked = false): void {
    const wants = one.wants.filter((want) => !bring(streams.heard, withoutGone(want)));
    const text = JSON.stringify(wants);
    if (!isAsked && text === one.left) return;
    one.left = text;
    window.send({ kind: "left", wants });
  }

  function sendMissing(): void {
    for (const [window] of own()) if (missing.delete(window)) window.send({ kind: "gap" });
  }

  /** Asks of each device whether it is there. */
  async function findGone(devices: readonly string[]): Promise<void> {
    const open = [...devices];
    let found = 0;
    async function askOn(): Promise<void> {
      for (let one = open.pop(); one !== undefined; one = open.pop()) {
        if (await surroundings.isThere(one)) continue;
        gone.set(one, now());
        found++;
      }
    }
    finding++;
    await Promise.all(Array.from({ length: goneAskedAtOnce }, askOn));
    finding--;
    if (found === 0) after(againMs, update);
    else {
      after(goneMs, forgetGone);
      update();
    }
  }

  function forgetGone(): void {
    for (const [device, at] of gone) if (now() - at >= goneMs) gone.delete(device);
    update();
  }

  function event(name: string, data: unknown, isNew: (item: unknown) => boolean): void {
    if (name === "gap") return everybody({ kind: "gap" });
    if (name === "skipped")
      return everybody({ kind: "skipped", count: (data as { skipped: number }).skipped });
    const topic = topics[name];
    if (topic === undefined) return;
    const items = (Array.isArray(data) ? data : [data]).filter(isNew) as Item[];
    for (const [window, { wants }] of own()) {
      const theirs = items.filter((item) => wants.some((want) => isWanted(want, topic, item)));
      if (theirs.length > 0) window.send({ kind: "told", topic, items: theirs });
    }
  }

  function dropSilent(): void {
    for (const [window, { heardAt }] of windows) if (heardAt < now() - silentMs) leave(window);
    after(lookMs, dropSilent);
  }
  after(lookMs, dropSilent);

  function leave(window: Window): void {
    // One that has not said anything yet has missed nothing.
    if (windows.delete(window)) left.add(window);
    missing.delete(window);
    shrinkAfter(windows.size === 0 ? togetherMs : shrinkMs);
  }

  function shrinkAfter(ms: number): void {
    callOffShrink();
    callOffShrink = after(ms, update);
  }

  /** The cookie is the browser's: what was asked with the one before is not theirs. */
  function turnTo(theirs: number | null): void {
    streams.closeAll();
    gone.clear();
    user = theirs;
    for (const [window, one] of own()) if (one.left !== "") missing.add(window);
  }

  /** A window that does not know yet that another user has logged in changes nothing by showing that it is there. */
  const isTurn = (theirs: number | null, before: Attending | undefined): boolean =>
    theirs !== user && (before?.user !== theirs || own().length === 0);

  return {
    hear: (window, { user: theirs, wants }) => {
      if (wants === undefined) return leave(window);
      const before = windows.get(window);
      const isSame = before !== undefined && JSON.stringify(before.wants) === JSON.stringify(wants);
      const known = before?.user === theirs && isSame ? before.left : "";
      const one: Attending = { user: theirs, wants, heardAt: now(), left: known };
      windows.set(window, one);
      for (const device of newIn(wants, before?.wants ?? [])) gone.delete(device);
      if (before === undefined && left.has(window)) missing.add(window);
      const isTurned = isTurn(theirs, before);
      if (isTurned) turnTo(theirs);
      if (theirs !== user) return;
      const hasState = before?.user === theirs || streams.state === null;
      if (!hasState && streams.state !== null) window.send({ kind: "state", state: streams.state });
      sendLeft(window, one, true);
      if (hasState && !isTurned && isSame) return;
      if (streams.isRunning && wants.every((want) => bring(streams.heard, withoutGone(want)))) {
        if (streams.isOn) sendMissing();
        return shrinkAfter(shrinkMs);
      }
      callOffChange();
      callOffChange = after(streams.isRunning ? restMs : togetherMs, update);
    },
  };
}

function newIn(wants: readonly Want[], before: readonly Want[]): string[] {
  const known = new Set(before.flatMap(({ devices }) => devices ?? []));
  return wants.flatMap(({ devices }) => devices ?? []).filter((one) => !known.has(one));
}

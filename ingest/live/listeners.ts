/** The listeners of a topic: each takes events at its own pace, and is dropped once it falls behind. */
import type { Numbered } from "./log.js";
import type { Listener, Topic } from "./topics.js";

/** The events that one listener has not taken yet. */
export interface LiveSubscription<Event extends Numbered> {
  /** Whether it goes on after the event that it saw last; false if what it missed is no longer known. */
  readonly resumed: boolean;
  /**
   * The oldest events that wait, about so many bytes of them, and at least one if there is one. They count as held
   * until the next are taken.
   */
  take(bytesMax: number): readonly Event[];
  /** Counts events of another source in the same way; false if they exceed the budget: the listener is dropped. */
  hold(events: readonly Event[]): boolean;
  /** False once it has fallen behind by more than is held, or is closed: nothing more will come. */
  readonly open: boolean;
  /** Resolves with true when there is something to take or nothing more will come, with false after `mostMs`. */
  wait(mostMs: number): Promise<boolean>;
  close(): void;
  /** Closes it for a reader that takes nothing, and counts it among those that fell behind. */
  giveUp(): void;
}

interface Listeners<Event extends Numbered> {
  /** Listens from the position in the topic's log on; null: from the next event on. */
  add(topic: Topic<Event>, position: number | null): LiveSubscription<Event>;
  /** Drops the topic's listeners that have not taken an event which is no longer held. */
  dropBehind(topic: Topic<Event>): void;
  /** Closes the topic's listeners. */
  closeAll(topic: Topic<Event>): void;
  readonly count: number;
  /** Listeners dropped since the start, because they fell behind. */
  readonly letGo: number;
}

interface ListenersDeps<Event extends Numbered> {
  /** Takes bytes of a tenant's share, and gives them back. */
  readonly take: (tenant: number, bytes: number) => boolean;
  readonly give: (tenant: number, bytes: number) => void;
  /** Nobody listens to the topic any more. */
  readonly onDeserted: (topic: Topic<Event>) => void;
}

export function createLiveListeners<Event extends Numbered>({
  take,
  give,
  onDeserted,
}: ListenersDeps<Event>): Listeners<Event> {
  let count = 0;
  let letGo = 0;

  function giveBack(listener: Listener<Event>): void {
    give(listener.topic.device.tenant, listener.taken);
    listener.taken = 0;
  }

  function close(listener: Listener<Event>): void {
    const { topic } = listener;
    if (!topic.listeners.delete(listener)) return;
    listener.open = false;
    giveBack(listener);
    count--;
    topic.part.listeners--;
    if (topic.listeners.size === 0) onDeserted(topic);
    listener.wake();
  }

  function fallBehind(listener: Listener<Event>): void {
    if (listener.open) letGo++;
    close(listener);
  }

  /** Counts events on their way to a listener. False if they exceed its tenant's budget: the listener is dropped. */
  function retain(listener: Listener<Event>, events: readonly Event[]): boolean {
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    if (listener.open && take(listener.topic.device.tenant, bytes)) listener.taken += bytes;
    else fallBehind(listener);
    // To free capacity, `take` may have dropped this listener, too.
    if (!listener.open) giveBack(listener);
    return listener.open;
  }

  function takeEvents(listener: Listener<Event>, bytesMax: number): readonly Event[] {
    giveBack(listener);
    const found = listener.open ? listener.topic.log.from(listener.position, bytesMax) : [];
    if (found.length === 0) return found;
    listener.position += found.length;
    return retain(listener, found) ? found : [];
  }

  return {
    add: (topic, position) => {
      const listener: Listener<Event> = {
        topic,
        position: position ?? topic.log.end,
        taken: 0,
        open: true,
        wake: () => undefined,
      };
      topic.listeners.add(listener);
      count++;
      topic.part.listeners++;
      return {
        resumed: position !== null,
        take: (bytesMax) => takeEvents(listener, bytesMax),
        hold: (events) => retain(listener, events),
        get open() {
          return listener.open;
        },
        wait: (mostMs) => waitFor(listener, mostMs),
        close: () => close(listener),
        giveUp: () => fallBehind(listener),
      };
    },
    dropBehind: (topic) => {
      for (const listener of topic.listeners) if (listener.position < topic.log.begin) fallBehind(listener);
    },
    closeAll: (topic) => {
      for (const listener of [...topic.listeners]) close(listener);
    },
    get count() {
      return count;
    },
    get letGo() {
      return letGo;
    },
  };
}

function waitFor<Event extends Numbered>(listener: Listener<Event>, mostMs: number): Promise<boolean> {
  if (listener.position < listener.topic.log.end || !listener.open) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      listener.wake = () => undefined;
      resolve(false);
    }, mostMs);
    listener.wake = () => {
      clearTimeout(timer);
      resolve(true);
    };
  });
}

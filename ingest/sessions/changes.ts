import type { SessionState } from "./state.js";

/** What the snapshot lacks of the state. These are marks only: what is written is the state at the time of saving. */
export interface Changes {
  session(state: SessionState): void;
  message(state: SessionState, messageID: number): void;
  retained(device: number, topic: string): void;
  will(device: number, connection: number): void;
  /** Hands over what is marked and begins anew. */
  take(): Marked;
  /** Marks again what could not be saved. */
  putBack(marked: Marked): void;
}

export interface Marked {
  readonly sessions: Set<SessionState>;
  readonly messages: Map<SessionState, Set<number>>;
  readonly retained: Map<number, Set<string>>;
  readonly wills: Map<number, Set<number>>;
}

const empty = (): Marked => ({
  sessions: new Set(),
  messages: new Map(),
  retained: new Map(),
  wills: new Map(),
});

export function createChanges(): Changes {
  let marked = empty();
  return {
    session: (state) => {
      marked.sessions.add(state);
    },
    message: (state, messageID) => add(marked.messages, state, messageID),
    retained: (device, topic) => add(marked.retained, device, topic),
    will: (device, connection) => add(marked.wills, device, connection),
    take: () => {
      const taken = marked;
      marked = empty();
      return taken;
    },
    putBack: (unsaved) => {
      // The older marks first: messages are saved in the order in which they were marked.
      const { sessions, messages, retained, wills } = marked;
      marked = unsaved;
      for (const state of sessions) marked.sessions.add(state);
      for (const [state, ids] of messages) for (const id of ids) add(marked.messages, state, id);
      for (const [device, topics] of retained)
        for (const topic of topics) add(marked.retained, device, topic);
      for (const [device, ids] of wills) for (const id of ids) add(marked.wills, device, id);
    },
  };
}

function add<Key, Value>(sets: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

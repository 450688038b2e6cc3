/** Which record of a segment holds the topic of an envelope, so that later entries can refer to it. */
export interface SharedTopics {
  /** Offset of the record in the file; undefined if the segment has none, or had it long ago. */
  at(envelope: number): number | undefined;
  add(envelope: number, at: number): void;
  clear(): void;
}

/** Only the newest envelopes are kept: the entries of one come together. */
const envelopesMax = 1000;

export function createSharedTopics(): SharedTopics {
  const places = new Map<number, number>();
  return {
    at: (envelope) => places.get(envelope),
    add: (envelope, at) => {
      places.set(envelope, at);
      if (places.size <= envelopesMax) return;
      for (const oldest of places.keys()) {
        places.delete(oldest);
        break;
      }
    },
    clear: () => places.clear(),
  };
}

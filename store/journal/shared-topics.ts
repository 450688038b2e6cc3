/** Which record of one segment holds the topic of an envelope: its entries behind that refer to it. */
export interface SharedTopics {
  /** Offset of the record in the file; undefined: the segment has none, or it was long ago. */
  at(envelope: number): number | undefined;
  add(envelope: number, at: number): void;
  clear(): void;
}

/** The newest; entries of one envelope come together. */
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

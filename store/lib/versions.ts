/**
 * Whether what was read of the metadata still holds, record by record: the follower of the change feed
 * touches the records that it names, and a reading looks whether one that it is made of was touched since it began.
 */
export interface Versions {
  touch(record: string): void;
  /** A reading begins. It must be ended. */
  begin(): Reading;
  /** Records that are remembered because they were touched while a reading was under way. */
  readonly size: number;
}

interface Reading {
  /** True while none of the records was touched since it began. */
  holds(records: Iterable<string>): boolean;
  end(): void;
}

export function createVersions(): Versions {
  let moment = 0;
  /** Readings under way by the moment at which they began, the oldest first. */
  const begun = new Set<number>();
  /** When records were touched, the longest ago first; nothing that no reading could ask for. */
  const touched = new Map<string, number>();

  function end(reading: number): void {
    begun.delete(reading);
    const [oldest = Number.POSITIVE_INFINITY] = begun;
    for (const [record, at] of touched) {
      if (at > oldest) return;
      touched.delete(record);
    }
  }

  return {
    touch: (record) => {
      if (begun.size === 0) return;
      touched.delete(record);
      touched.set(record, ++moment);
    },
    begin: () => {
      const reading = ++moment;
      begun.add(reading);
      return {
        holds: (records) => {
          for (const record of records) if ((touched.get(record) ?? 0) > reading) return false;
          return true;
        },
        end: () => end(reading),
      };
    },
    get size() {
      return touched.size;
    },
  };
}

/** How the records of the metadata are named. */
export const recordName = (entity: string, id: number): string => `${entity} ${id}`;

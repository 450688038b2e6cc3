/**
 * Checks whether a reading of the metadata is still valid, record by record. The follower of the change feed touches
 * the records that it names; a reading checks whether any record that it is made of was touched since it began.
 */
export interface Versions {
  touch(record: string): void;
  /** Begins a reading, which must be ended. */
  begin(): Reading;
  /** How many records are remembered because they were touched while a reading was under way. */
  readonly size: number;
}

interface Reading {
  /** True as long as none of the records was touched since the reading began. */
  holds(records: Iterable<string>): boolean;
  end(): void;
}

export function createVersions(): Versions {
  let moment = 0;
  /** Readings under way by the moment they began, the oldest first. */
  const begun = new Set<number>();
  /** When records were touched, the longest ago first, as far as any reading under way could ask. */
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

/** The name of a metadata record. */
export const recordName = (entity: string, id: number): string => `${entity} ${id}`;

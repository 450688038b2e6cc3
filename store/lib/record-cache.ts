import { createVersions } from "./versions.js";

/** A cache of readings of the metadata: each value stays until one of the records that it is made of is touched. */
interface RecordCache<Key, Value> {
  /** Reads memory only. */
  peek(key: Key): Value | undefined;
  /**
   * Returns the value from memory, or reads it now. If a record is touched meanwhile, the value is read once more. If
   * one is touched again, the second value is returned, since it is newer than the call, but not kept: endless
   * edits keep nobody waiting.
   */
  get(key: Key, read: () => Promise<Value>): Promise<Value>;
  touch(record: string): void;
}

const triesMax = 2;

/**
 * @param max entries; beyond it all are forgotten
 * @param madeOf the records that a value is made of (`recordName`); null if the value is not to be kept
 */
export function createRecordCache<Key, Value>(
  max: number,
  madeOf: (value: Value, key: Key) => Iterable<string> | null,
): RecordCache<Key, Value> {
  const values = new Map<Key, { readonly value: Value; readonly records: ReadonlySet<string> }>();
  const usedBy = new Map<string, Set<Key>>();
  const versions = createVersions();
  /** Readings under way, shared with callers that ask meanwhile. */
  const underWay = new Map<Key, Promise<Value>>();

  function keep(key: Key, value: Value, records: ReadonlySet<string>): void {
    forget(key);
    if (values.size >= max) {
      values.clear();
      usedBy.clear();
    }
    values.set(key, { value, records });
    for (const record of records) {
      const keys = usedBy.get(record);
      if (keys === undefined) usedBy.set(record, new Set([key]));
      else keys.add(key);
    }
  }

  function forget(key: Key): void {
    for (const record of values.get(key)?.records ?? []) {
      const keys = usedBy.get(record);
      keys?.delete(key);
      if (keys?.size === 0) usedBy.delete(record);
    }
    values.delete(key);
  }

  async function readAnew(key: Key, read: () => Promise<Value>): Promise<Value> {
    for (let tries = 1; ; tries++) {
      const known = values.get(key);
      if (known !== undefined) return known.value;
      const reading = versions.begin();
      try {
        const value = await read();
        const records = madeOf(value, key);
        if (records === null) return value;
        const made = new Set(records);
        if (reading.holds(made)) {
          keep(key, value, made);
          return value;
        }
        if (tries === triesMax) return value;
      } finally {
        reading.end();
      }
    }
  }

  return {
    peek: (key) => values.get(key)?.value,
    get: async (key, read) => {
      const known = values.get(key);
      if (known !== undefined) return known.value;
      const before = underWay.get(key);
      if (before !== undefined) {
        // A value that this reading keeps holds now, however long ago the reading began.
        await before.catch(() => undefined);
        const left = values.get(key);
        if (left !== undefined) return left.value;
        // If it keeps none, one of the waiting callers reads for all: its reading begins after they asked.
        const next = underWay.get(key);
        if (next !== undefined) return next;
      }
      const reading = readAnew(key, read);
      underWay.set(key, reading);
      try {
        return await reading;
      } finally {
        underWay.delete(key);
      }
    },
    touch: (record) => {
      versions.touch(record);
      for (const key of [...(usedBy.get(record) ?? [])]) forget(key);
    },
  };
}

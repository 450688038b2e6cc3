import { asError } from "./errors.js";

/** The resources that have been opened so far, to be closed in reverse. */
export interface Closers {
  add(close: () => Promise<void> | void): void;
  /** Closes all of it, also if one fails. @throws what the first one that failed has thrown */
  close(): Promise<void>;
}

export function createClosers(): Closers {
  const all: (() => Promise<void> | void)[] = [];
  return {
    add: (close) => {
      all.push(close);
    },
    close: async () => {
      let failure: Error | null = null;
      for (const close of all.splice(0).reverse()) {
        try {
          await close();
        } catch (error) {
          failure ??= asError(error);
        }
      }
      if (failure !== null) throw failure;
    },
  };
}

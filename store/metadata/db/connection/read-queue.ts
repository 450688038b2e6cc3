import type { BoundStatement, Found } from "./connection.js";

/** A read that waits for a thread. */
interface Read {
  readonly statements: readonly BoundStatement[];
  resolve(found: Found): void;
  reject(error: unknown): void;
}

interface ReadQueue {
  add(read: Read, isStep: boolean): void;
  /** The next that may begin now. */
  take(): Read | undefined;
  /** Whether one may begin now. */
  readonly isWaiting: boolean;
}

/**
 * Steps of long work take turns with the other reads, and only one of them is under way: however many searches run,
 * a read of a record waits for one step at most.
 */
export function createReadQueue(): ReadQueue {
  const others: Read[] = [];
  const steps: Read[] = [];
  let isStepUnderWay = false;
  let wasStep = false;

  function takeStep(): Read | undefined {
    const step = isStepUnderWay ? undefined : steps.shift();
    if (step === undefined) return undefined;
    isStepUnderWay = true;
    wasStep = true;
    return {
      statements: step.statements,
      resolve: (found) => {
        isStepUnderWay = false;
        step.resolve(found);
      },
      reject: (error) => {
        isStepUnderWay = false;
        step.reject(error);
      },
    };
  }

  return {
    add: (read, isStep) => {
      (isStep ? steps : others).push(read);
    },
    take: () => {
      const other = wasStep ? others.shift() : undefined;
      wasStep = false;
      return other ?? takeStep() ?? others.shift();
    },
    get isWaiting() {
      return others.length > 0 || (steps.length > 0 && !isStepUnderWay);
    },
  };
}

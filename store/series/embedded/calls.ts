import type { MessagePort, Transferable, Worker } from "node:worker_threads";
import { StoreError, type StoreErrorCode } from "../../lib/errors.js";
import { toSeriesError } from "./failures.js";
import type { CallShape } from "./protocol.js";

export type Shapes = Record<string, CallShape>;

interface Request {
  readonly call: number;
  readonly name: string;
  readonly args: unknown;
  /** What the other side must know before it runs the call. */
  readonly prelude: unknown;
}

type Reply =
  | { readonly call: number; readonly answer: unknown }
  | { readonly call: number; readonly code: StoreErrorCode; readonly message: string };

export interface ThreadCaller<C extends Shapes> {
  call<N extends keyof C & string>(
    name: N,
    args: C[N]["args"],
    options?: { transfer?: readonly Transferable[]; prelude?: unknown },
  ): Promise<C[N]["answer"]>;
  /** Calls that have no answer yet. */
  waiting(): number;
  failed(): boolean;
  /** Rejects what waits and everything asked from now on. */
  fail(error: StoreError): void;
}

/** The asking side of a worker. Messages that are no replies go to `onEvent`. */
export function createCaller<C extends Shapes>(
  worker: Worker,
  onEvent: (message: unknown) => void,
): ThreadCaller<C> {
  const waiting = new Map<number, { resolve: (answer: never) => void; reject: (error: unknown) => void }>();
  let failure: StoreError | undefined;
  let calls = 0;

  worker.on("message", (message: Reply | { call?: undefined }) => {
    if (message.call === undefined) return onEvent(message);
    const caller = waiting.get(message.call);
    waiting.delete(message.call);
    if ("code" in message) caller?.reject(new StoreError(message.code, message.message));
    else caller?.resolve(message.answer as never);
  });

  return {
    call: (name, args, { transfer = [], prelude = null } = {}) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        const call = ++calls;
        waiting.set(call, { resolve, reject });
        worker.postMessage({ call, name, args, prelude } satisfies Request, transfer);
      }),
    waiting: () => waiting.size,
    failed: () => failure !== undefined,
    fail: (error) => {
      failure ??= error;
      for (const { reject } of waiting.values()) reject(failure);
      waiting.clear();
    },
  };
}

export type Handlers<C extends Shapes> = {
  readonly [N in keyof C]: (args: C[N]["args"]) => Promise<C[N]["answer"]> | C[N]["answer"];
};

/** The answering side, inside the worker. Columns of an answer, and an answer that is a buffer, move without a copy. */
export function serveCalls<C extends Shapes>(
  port: MessagePort,
  handlers: Handlers<C>,
  prepare: (prelude: unknown) => void = () => undefined,
): void {
  const byName = handlers as Record<string, (args: never) => unknown>;
  port.on("message", ({ call, name, args, prelude }: Request) => {
    void answer(call, async () => {
      prepare(prelude);
      return byName[name]?.(args as never);
    });
  });

  async function answer(call: number, work: () => Promise<unknown>): Promise<void> {
    try {
      const result = await work();
      port.postMessage({ call, answer: result }, listBuffers(result));
    } catch (error) {
      const { code, message } = toSeriesError(error, "serve series");
      port.postMessage({ call, code, message });
    }
  }
}

/** The buffers of columns one or two levels deep, or of a column itself; each once. */
function listBuffers(answer: unknown, depth = 2): ArrayBuffer[] {
  if (answer instanceof ArrayBuffer) return [answer];
  if (answer instanceof Float64Array) return [answer.buffer as ArrayBuffer];
  if (depth === 0 || answer === null || typeof answer !== "object" || Array.isArray(answer)) return [];
  return [...new Set(Object.values(answer).flatMap((value) => listBuffers(value, depth - 1)))];
}

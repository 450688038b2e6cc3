import { asError, StoreError } from "../../store/lib/errors.js";
import { createFairQueue } from "../../store/lib/fair-queue.js";
import { startThread } from "../host/thread.js";
import type { MessageDocument } from "./message-texts.js";
import type { FromRenderer, Templates, ToRenderer } from "./template-messages.js";

/** A template that cannot be rendered. */
export class TemplateError extends Error {
  constructor(
    readonly field: "subject" | "body",
    message: string,
  ) {
    super(message);
    this.name = "TemplateError";
  }
}

/** Renders the templates of tenants, one at a time; tenants take turns. */
export interface TemplateRenderer {
  /**
   * The texts of the templates that are not null. @throws TemplateError, StoreError UNAVAILABLE if too many wait
   * @param msMax milliseconds that it may take once its thread is ready
   */
  render(
    tenant: number,
    templates: Templates,
    document: MessageDocument,
    timezone: string,
    msMax: number,
  ): Promise<Templates>;
  close(): Promise<void>;
}

const waitingMax = 256;
/**
 * How long the texts of an alert, and a preview of them, may take. Their steps end them far sooner, also on a busy
 * machine; this is for what the engine does in one step, as the search of a long text in another. All tenants share
 * the thread: somebody who tries templates out delays alerts by less.
 */
export const [renderMsMax, previewMsMax] = [10_000, 2000];
/** After which a thread that has nothing to do ends. */
const idleMs = 60_000;
const heapMegabytesMax = 64;

/** A thread that renders; what it says, however late, is about its own renderings alone. */
interface RenderThread {
  readonly hasEnded: boolean;
  /** Rejects if the thread ends or fails, or takes longer than it may: the thread is of no more use then. */
  render(request: ToRenderer, msMax: number): Promise<FromRenderer>;
  terminate(): Promise<unknown>;
}

function openRenderThread(): RenderThread {
  let hasEnded = false;
  let settle: ((answer: FromRenderer) => void) | undefined;
  let fail: ((reason: Error) => void) | undefined;
  let setReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    setReady = resolve;
  });
  const thread = startThread<FromRenderer | "ready", ToRenderer>(
    new URL("./renderer.worker.js", import.meta.url),
    {
      start: null,
      heapMegabytesMax,
      onMessage: (message) => {
        if (message === "ready") setReady();
        else settle?.(message);
      },
      onError: (error) => fail?.(error),
      onExit: () => {
        hasEnded = true;
        fail?.(new Error("ended"));
      },
    },
  );
  return {
    get hasEnded() {
      return hasEnded;
    },
    render: (request, msMax) => {
      let timer: NodeJS.Timeout | undefined;
      const answered = new Promise<FromRenderer>((resolve, reject) => {
        [settle, fail] = [resolve, reject];
        thread.send(request);
      });
      void ready.then(() => {
        const endLate = (): void => fail?.(new Error(`takes more than ${msMax / 1000} seconds`));
        timer = setTimeout(endLate, msMax);
      });
      return answered.finally(() => clearTimeout(timer));
    },
    terminate: () => thread.terminate(),
  };
}

export function createTemplateRenderer(): TemplateRenderer {
  const queue = createFairQueue(waitingMax);
  let thread: RenderThread | null = null;
  let idle: NodeJS.Timeout | undefined;
  let closed = false;

  async function end(): Promise<void> {
    clearTimeout(idle);
    const ending = thread;
    thread = null;
    await ending?.terminate();
  }

  async function renderNow(request: ToRenderer, msMax: number): Promise<FromRenderer> {
    if (closed) throw shuttingDown();
    clearTimeout(idle);
    if (thread === null || thread.hasEnded) thread = openRenderThread();
    try {
      const answer = await thread.render(request, msMax);
      if (!closed) idle = setTimeout(() => void end(), idleMs).unref();
      return answer;
    } catch (error) {
      // The next one is another tenant's: it begins when this one takes no more of the machine.
      await end();
      if (closed) throw shuttingDown();
      throw new TemplateError(request.templates.body === null ? "subject" : "body", asError(error).message);
    }
  }

  return {
    render: async (tenant, templates, document, timezone, msMax) => {
      if (templates.subject === null && templates.body === null) return templates;
      const answer = await queue.run(String(tenant), () =>
        renderNow({ templates, document, timezone }, msMax),
      );
      if ("error" in answer) throw new TemplateError(answer.field, answer.error);
      return answer;
    },
    close: async () => {
      closed = true;
      await end();
    },
  };
}

const shuttingDown = (): StoreError => new StoreError("UNAVAILABLE", "the service is shutting down");

import { StoreError } from "../../store/lib/errors.js";
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
   */
  render(
    tenant: number,
    templates: Templates,
    document: MessageDocument,
    timezone: string,
  ): Promise<Templates>;
  close(): Promise<void>;
}

const waitingMax = 256;
/** How long one rendering may take; its own limits end it sooner. */
const renderMs = 2000;
/** After which a thread that has nothing to do ends. */
const idleMs = 60_000;
const heapMegabytesMax = 64;

interface Rendering {
  settle(answer: FromRenderer): void;
  fail(reason: string): void;
}

export function createTemplateRenderer(): TemplateRenderer {
  const queue = createFairQueue(waitingMax);
  let thread: ReturnType<typeof startThread<FromRenderer, ToRenderer>> | null = null;
  let current: Rendering | null = null;
  let idle: NodeJS.Timeout | undefined;
  let closed = false;

  function start() {
    const started = startThread<FromRenderer, ToRenderer>(new URL("./renderer.worker.js", import.meta.url), {
      start: null,
      heapMegabytesMax,
      onMessage: (answer) => current?.settle(answer),
      onError: (error) => current?.fail(error.message),
      onExit: () => {
        if (thread === started) thread = null;
        current?.fail("ended");
      },
    });
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(idle);
    const ending = thread;
    thread = null;
    await ending?.terminate();
  }

  function renderNow(request: ToRenderer): Promise<FromRenderer> {
    return new Promise((resolve, reject) => {
      clearTimeout(idle);
      const tooLong = setTimeout(() => current?.fail(`takes more than ${renderMs / 1000} seconds`), renderMs);
      const done = () => {
        clearTimeout(tooLong);
        current = null;
        if (!closed) idle = setTimeout(() => void end(), idleMs).unref();
      };
      current = {
        settle: (answer) => {
          done();
          resolve(answer);
        },
        fail: (reason) => {
          done();
          void end();
          const field = request.templates.body === null ? "subject" : "body";
          reject(new TemplateError(field, reason));
        },
      };
      thread ??= start();
      thread.send(request);
    });
  }

  return {
    render: async (tenant, templates, document, timezone) => {
      if (templates.subject === null && templates.body === null) return templates;
      if (closed) throw new StoreError("UNAVAILABLE", "the service is shutting down");
      const answer = await queue.run(String(tenant), () => renderNow({ templates, document, timezone }));
      if ("error" in answer) throw new TemplateError(answer.field, answer.error);
      return answer;
    },
    close: async () => {
      closed = true;
      await end();
    },
  };
}

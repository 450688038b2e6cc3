/**
 * Ends the links to and from a node that has gone silent. TCP gives up what is not acknowledged after a quarter of an hour
 * and more. A client that waits at such a link could instead come again, by another node or to the shard's new owner.
 * So each second a byte goes to every node that there are links with, and comes back: one link for all of it.
 */
import type { Socket } from "node:net";
import { createYielder } from "../../store/lib/scheduling.js";
import type { Logger } from "../observability/log.js";

export interface LinkWatch {
  /** A link to the node, or from it, which is ended with an error once the node is silent. */
  add(node: number, link: Socket): void;
  close(): void;
}

interface LinkWatchDeps {
  /** Opens a link at which the node echoes every byte. @throws Error whose cause is that of the system, if any */
  readonly openEcho: (node: number) => Promise<Socket>;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly lookEveryMs?: number;
}

/** Looks that find no sign of the node before it is silent. They are counted, for this process may itself have been frozen. */
const looksMax = 5;
/** Errors that say as much of a node as no answer. Any other is a word of the node's, or says nothing of it. */
const silence: ReadonlySet<unknown> = new Set([
  undefined,
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
]);
const oneByte = Buffer.of(0);

export function createLinkWatch({ openEcho, log, lookEveryMs = 1000 }: LinkWatchDeps): LinkWatch {
  const nodes = new Map<number, ReturnType<typeof watchNode>>();

  function watchNode(node: number) {
    const links = new Set<Socket>();
    let timer: NodeJS.Timeout | undefined;
    let echo: Socket | null = null;
    let isOpening = false;
    let unanswered = 0;
    let isSilent = false;

    const answered = (): void => {
      unanswered = 0;
    };

    function probe(): void {
      if (echo !== null) return void echo.write(oneByte);
      if (isOpening) return;
      isOpening = true;
      openEcho(node)
        .then(takeEcho, (error: Error) => {
          const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
          if (!silence.has(code)) answered();
        })
        .finally(() => {
          isOpening = false;
        });
    }

    function takeEcho(opened: Socket): void {
      // The links may have ended meanwhile.
      if (timer === undefined) return void opened.destroy();
      echo = opened;
      opened.on("data", answered);
      opened.once("end", answered);
      opened.once("close", () => {
        if (echo === opened) echo = null;
      });
      opened.write(oneByte);
    }

    function stop(): void {
      clearInterval(timer);
      timer = undefined;
      echo?.destroy();
      echo = null;
      unanswered = 0;
    }

    async function end(ending: readonly Socket[]): Promise<void> {
      const yieldIfDue = createYielder();
      for (const link of ending) {
        link.destroy(new Error("the node is silent"));
        await yieldIfDue();
      }
    }

    function look(): void {
      if (links.size === 0) return stop();
      unanswered++;
      if (unanswered <= looksMax) return probe();
      isSilent = true;
      log.warn("a node is silent: the links to it and from it are ended", { node, links: links.size });
      void end([...links]);
      links.clear();
      stop();
    }

    return {
      add: (link: Socket): void => {
        if (link.destroyed) return;
        if (isSilent) log.info("a node that was silent is there again", { node });
        isSilent = false;
        links.add(link);
        link.once("close", () => links.delete(link));
        timer ??= setInterval(look, lookEveryMs).unref();
      },
      stop,
    };
  }

  return {
    add: (node, link) => {
      const watched = nodes.get(node) ?? watchNode(node);
      nodes.set(node, watched);
      watched.add(link);
    },
    close: () => {
      for (const { stop } of nodes.values()) stop();
    },
  };
}

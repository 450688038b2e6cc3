import type { MessagePort } from "node:worker_threads";
import type { Client } from "@libsql/client";
import { closeAtOnce } from "../files/closing.js";
import type { Handlers } from "../series/embedded/calls.js";
import type { FileCalls } from "./file-thread.js";

/** The databases that a thread has open, each by its path. */
interface OpenClients {
  /** Opens the file with the first request for it; one that could not be opened is tried again with the next. */
  of(path: string): Promise<Client>;
  readonly handlers: Handlers<FileCalls>;
}

/** @param onClose called before a file is closed */
export function createOpenClients(
  port: MessagePort,
  open: (path: string) => Promise<Client>,
  onClose: (path: string) => void = () => undefined,
): OpenClients {
  const clients = new Map<string, Promise<Client>>();

  function opened(path: string): Promise<Client> {
    const client = open(path);
    clients.set(path, client);
    client.catch(() => clients.delete(path));
    return client;
  }

  return {
    of: (path) => clients.get(path) ?? opened(path),
    handlers: {
      close: async (path) => {
        onClose(path);
        const client = await clients.get(path)?.catch(() => undefined);
        clients.delete(path);
        if (client !== undefined) await closeAtOnce(client, path);
        return null;
      },
      end: () => {
        // The answer must leave first.
        setImmediate(() => port.close());
        return null;
      },
    },
  };
}

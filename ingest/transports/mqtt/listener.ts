import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { MqttConnection } from "./connection.js";
import type { MqttContext } from "./context.js";

/** The MQTT endpoint: one TCP listener and its connections. */
export interface MqttListener {
  readonly port: number;
  /** To be called after each commit: hands out acknowledgements and lets waiting connections read on. */
  afterCommit(): void;
  /** Stops listening; open connections stay. */
  stopListening(): Promise<void>;
  close(): Promise<void>;
}

export type ListenerContext = Omit<MqttContext, "markDirty" | "markPaused" | "onClosed">;

const backlog = 4096;
const sweepMs = 1000;
/** Sockets at once, answered or not. */
const connectionsMax = 100_000;

export async function listenMqtt(
  base: ListenerContext,
  address: { readonly host: string; readonly port: number },
): Promise<MqttListener> {
  const open = new Set<MqttConnection>();
  const dirty = new Set<MqttConnection>();
  const paused = new Set<MqttConnection>();
  let flushPlanned = false;

  function flushDirty(): void {
    flushPlanned = false;
    for (const connection of dirty) connection.flush();
    dirty.clear();
  }

  const context: MqttContext = {
    ...base,
    markDirty: (connection) => {
      dirty.add(connection);
      // Deliveries outside a commit leave at the end of this turn of the loop.
      if (flushPlanned) return;
      flushPlanned = true;
      setImmediate(flushDirty);
    },
    markPaused: (connection) => {
      paused.add(connection);
    },
    onClosed: (connection) => {
      open.delete(connection);
      dirty.delete(connection);
      paused.delete(connection);
    },
  };

  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) => {
    if (open.size >= connectionsMax) socket.destroy();
    else open.add(new MqttConnection(context, socket));
  });
  await listen(server, address);
  const sweep = setInterval(() => {
    const now = base.now();
    for (const connection of open) connection.checkSilence(now);
    resumePaused();
  }, sweepMs);

  /** Over a copy: one that stays paused enters the set again, and a walk over the set itself would never end. */
  function resumePaused(): void {
    for (const connection of [...paused]) {
      paused.delete(connection);
      connection.resumeIfRoom();
      if (connection.isPaused) paused.add(connection);
    }
  }

  const stopListening = (): Promise<void> =>
    new Promise((resolve) => {
      if (!server.listening) resolve();
      else server.close(() => resolve());
    });

  return {
    port: (server.address() as AddressInfo).port,
    afterCommit: () => {
      flushDirty();
      resumePaused();
    },
    stopListening: () => {
      // Resolves only once every connection has ended, so it is not awaited here.
      void stopListening();
      return Promise.resolve();
    },
    close: async () => {
      clearInterval(sweep);
      for (const connection of [...open]) connection.end("shutdown");
      await stopListening();
    },
  };
}

function listen(server: Server, address: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...address, backlog }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Clients whose device another node keeps: a WebSocket is opened there for each, and frames are passed on. */
import type { WebSocket } from "ws";
import type { HttpPeer } from "../http/peer.js";
import type { UplinkAnswer } from "../http/requests/answers.js";
import type { Neighbours } from "../sockets/relay.js";
import type { Onward } from "./frame-connection.js";
import { type FrameRelay, relayFrames } from "./frame-relay.js";
import { openAtKeeper } from "./keeper-socket.js";

/** How a client has asked for its WebSocket. */
interface Ask {
  readonly query: string;
  /** Undefined: who it is stands in its first frame. */
  readonly authorization: string | undefined;
  readonly peer: HttpPeer;
  readonly ip: string;
}

/** The client's WebSocket at the node that keeps its device. */
interface AtKeeper {
  readonly join: Onward;
  /** For a client that has left. */
  readonly giveUp: () => void;
}

interface PassingOn {
  /** An answer: the node has refused the client, or cannot be reached; null: this node keeps the device. */
  open(username: string | undefined, ask: Ask): Promise<AtKeeper | UplinkAnswer | null>;
  endAll(): void;
}

/** @param neighbours null: the process is alone */
export function createPassingOn(neighbours: Neighbours | null, closeTimeoutMs: number): PassingOn {
  const relays = new Set<FrameRelay>();
  let isEnding = false;
  return {
    open: async (username, { query, authorization, peer, ip }) => {
      if (neighbours === null || peer.isRelayed) return null;
      const keeper = await neighbours.keeperOf(username, peer.certificate);
      if (keeper === null) return null;
      const { certificate, isSecure } = peer;
      const link = neighbours.openUpgrade(keeper.node, { address: ip, isSecure, certificate });
      const opened = await openAtKeeper(link, { query, authorization, closeTimeoutMs });
      if ("status" in opened) return opened;
      const prove = (): void => peer.prove(keeper.tenant);
      if (authorization !== undefined) prove();
      return {
        join: (client, known) => {
          // It may have left while the way was opened.
          if (client.readyState === client.CLOSED) return opened.terminate();
          const relay = relayFrames(client, opened, {
            known,
            onLetIn: prove,
            onEnd: () => relays.delete(relay),
          });
          relays.add(relay);
          if (isEnding) relay.goAway();
        },
        giveUp: () => opened.terminate(),
      };
    },
    endAll: () => {
      isEnding = true;
      for (const relay of relays) relay.goAway();
    },
  };
}

/** Reports to the node that has passed the client on that the client is accepted. */
export function letIn(webSocket: WebSocket): void {
  webSocket.pong();
}

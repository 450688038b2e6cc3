/** Frames that one node passes on between a client and the node that keeps its device. */
import type { WebSocket } from "ws";

/** A frame with data, as it came. */
export interface WebSocketFrame {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

export interface FrameRelay {
  /** Ends both sides: this node goes down. */
  goAway(): void;
}

/** Bytes that one side has not taken, beyond which the other is not read. */
const unsentBytesMax = 256 * 1024;
/** RFC 6455 §7.4.1. */
const closeCodes = { goingAway: 1001, none: 1005, lost: 1006 } as const;
const orderly = "shutdown";

/**
 * Passes on all frames in both directions, each side at the other's pace, until either ends: then both do. The node
 * reports that it has accepted the client by an unsolicited pong (RFC 6455 §5.5.3), because a client need not ask for
 * an answer to its first frame. The client's own pings are answered here, so that no pong of theirs is mistaken for it.
 *
 * @param client has not closed
 * @param keeper the link to the owner node, paused
 * @param known frames of the client that have come already
 */
export function relayFrames(
  client: WebSocket,
  keeper: WebSocket,
  { known, onLetIn, onEnd }: { known: readonly WebSocketFrame[]; onLetIn: () => void; onEnd: () => void },
): FrameRelay {
  passOn(client, keeper);
  passOn(keeper, client);
  client.on("ping", (data) => {
    if (client.bufferedAmount < unsentBytesMax) client.pong(data);
  });
  client.on("pong", (data) => {
    if (keeper.bufferedAmount < unsentBytesMax) keeper.pong(data);
  });
  keeper.on("ping", (data) => client.ping(data));
  keeper.once("pong", onLetIn);
  client.once("close", (code, reason) => {
    onEnd();
    // Without a code it is no orderly end: the client is lost.
    if (code === closeCodes.none || code === closeCodes.lost) keeper.close();
    else keeper.close(code, reason);
    if (keeper.isPaused) keeper.resume();
  });
  keeper.once("close", (code, reason) => {
    if (code === closeCodes.none) client.close();
    else if (code === closeCodes.lost) client.close(closeCodes.goingAway);
    else client.close(code, reason);
    if (client.isPaused) client.resume();
  });
  for (const { bytes, isBinary } of known) keeper.send(bytes, { binary: isBinary });
  keeper.resume();
  return { goAway: () => client.close(closeCodes.goingAway, orderly) };
}

function passOn(from: WebSocket, to: WebSocket): void {
  const goOn = (): void => {
    if (from.isPaused && to.bufferedAmount < unsentBytesMax / 2) from.resume();
  };
  from.on("error", () => undefined);
  from.on("message", (bytes: Buffer, isBinary) => {
    to.send(bytes, { binary: isBinary }, goOn);
    if (to.bufferedAmount > unsentBytesMax) from.pause();
  });
}

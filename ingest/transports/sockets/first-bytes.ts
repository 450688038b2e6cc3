import type { Socket } from "node:net";

/** Whether the bytes suffice: how many of them are taken off; null: not yet. */
type Look = (bytes: Buffer) => number | null;

/**
 * Looks at the first bytes of a socket before a layer above takes it. What is not taken off stays in the socket.
 * `look` is called with all that has come, and bounds how much is held; it may destroy the socket, which is then
 * looked at no more.
 */
export function lookAtFirstBytes(socket: Socket, look: Look, then: () => void): void {
  let held: Buffer = Buffer.alloc(0);
  const read = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const taken = look(held);
    if (taken === null || socket.destroyed) return;
    socket.off("readable", read);
    if (taken < held.length) socket.unshift(held.subarray(taken));
    then();
  };
  socket.on("readable", read);
}

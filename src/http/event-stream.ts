/** Chunks that arrive at any time, and callbacks for their reader. */
interface EventSource {
  readonly chunks: AsyncGenerator<Uint8Array, void>;
  /** Called when the reader has left. */
  readonly left: () => void;
  /** Called instead when the reader has taken nothing for too long; ends the connection. */
  readonly stalled: () => void;
}

/** How long a chunk may wait to be taken. */
export const stallMs = 30_000;

/** An endless answer: each chunk is made once the one before has been taken. */
export function eventStream(
  { chunks, left, stalled }: EventSource,
  mostMs = stallMs,
): ReadableStream<Uint8Array> {
  let gone = false;
  let stall: NodeJS.Timeout | undefined;
  /** Stops making chunks; the generator releases what it holds. */
  const end = (): void => {
    gone = true;
    clearTimeout(stall);
    chunks.return().catch(() => undefined);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        clearTimeout(stall);
        const { value, done } = await chunks.next();
        if (gone) return;
        if (done === true) return controller.close();
        controller.enqueue(value);
        stall = setTimeout(() => {
          end();
          stalled();
        }, mostMs).unref();
      },
      cancel: () => {
        if (gone) return;
        end();
        left();
      },
    },
    { highWaterMark: 0 },
  );
}

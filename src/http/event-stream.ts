/** Chunks that come when they come, and someone who reads them. */
interface EventSource {
  readonly chunks: AsyncGenerator<Uint8Array, void>;
  /** Called when the reader has gone. */
  readonly left: () => void;
  /** Called in place of it when the reader has taken nothing for too long; ends the connection. */
  readonly stalled: () => void;
}

/** So long a chunk may wait to be taken. */
export const stallMs = 30_000;

/** An answer without an end: a chunk is made once the one before has been taken. */
export function eventStream(
  { chunks, left, stalled }: EventSource,
  mostMs = stallMs,
): ReadableStream<Uint8Array> {
  let gone = false;
  let stall: NodeJS.Timeout | undefined;
  /** Nothing more is made, and what the generator holds is let go of. */
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

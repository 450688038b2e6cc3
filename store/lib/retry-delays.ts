/** Delays between the attempts of what must succeed in the end, milliseconds: each twice the one before, up to the longest. */
export function* retryDelays(firstMs: number, longestMs: number): Generator<number, never> {
  for (let delayMs = firstMs; ; delayMs = Math.min(delayMs * 2, longestMs)) yield delayMs;
}

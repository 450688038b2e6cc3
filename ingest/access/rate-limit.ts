/**
 * A token bucket that may be overdrawn: a caller that takes more than there is waits until it has filled up to zero, so
 * that waiting callers have their turn in the order in which they came.
 */
export interface TokenBucket {
  readonly ratePerSecond: number;
  tokens: number;
  /** When `tokens` was true, milliseconds. */
  at: number;
}

/** A bucket holds what comes in this time. It is filled only when it runs low, so twice as much may come at once. */
export const burstSeconds = 1;

export function createBucket(ratePerSecond: number, now: number): TokenBucket {
  return { ratePerSecond, tokens: capacity(ratePerSecond), at: now };
}

/** One message always fits. */
export function capacity(ratePerSecond: number): number {
  return Math.max(1, ratePerSecond * burstSeconds);
}

/** Milliseconds until the bucket is at zero again; 0 while there is something in it. */
export function computeWaitMs(bucket: TokenBucket, now: number): number {
  const { ratePerSecond } = bucket;
  const filled = bucket.tokens + (Math.max(0, now - bucket.at) / 1000) * ratePerSecond;
  bucket.tokens = Math.min(capacity(ratePerSecond), filled);
  bucket.at = Math.max(bucket.at, now);
  return bucket.tokens > 0 ? 0 : Math.max(1, Math.ceil((-bucket.tokens / ratePerSecond) * 1000));
}

/** Milliseconds until there are so many in it, or would be if it held more than it does. */
export function msUntil(bucket: TokenBucket, count: number, now: number): number {
  computeWaitMs(bucket, now);
  return Math.max(0, Math.ceil(((count - bucket.tokens) / bucket.ratePerSecond) * 1000));
}

/** Takes so many, going into debt if need be. */
export function draw(bucket: TokenBucket, count: number): void {
  bucket.tokens -= count;
}

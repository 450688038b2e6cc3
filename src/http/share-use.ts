/** How much one share may ask: by each address, and by all that have its token. What is too much waits for a moment. */
import { computeWaitMs, createBucket, draw, type TokenBucket } from "../../ingest/access/rate-limit.js";

/** The limit of one address, so that one screen cannot use up the share. */
export const perAddress = { requestsPerSecond: 20, atOnce: 4 } as const;
/** By all that have the token. */
const perShare = { requestsPerSecond: 60, atOnce: 12 } as const;
/** A request waits for its turn so long, and so many of one share do. */
const [waitMsMax, waitingMax] = [2000, 32] as const;
/** Addresses of a share that are counted; the one that has been idle for longest is forgotten. */
const addressesMax = 1000;

interface Account {
  readonly bucket: TokenBucket;
  readonly atOnce: number;
  underWay: number;
}

type Leave = () => void;

interface Waiting {
  readonly account: Account;
  begin(): void;
}

export interface ShareUse {
  /** What ends the request that begins now; null: it must wait. */
  tryEnter(address: string): Leave | null;
  /** The same once it is its turn, or after how many milliseconds it may be tried again. */
  wait(address: string): Promise<Leave | number>;
}

/** @param monotonic milliseconds of this run */
export function createShareUse(monotonic: () => number): ShareUse {
  const createAccount = ({ requestsPerSecond, atOnce }: typeof perAddress | typeof perShare): Account => ({
    bucket: createBucket(requestsPerSecond, monotonic()),
    atOnce,
    underWay: 0,
  });
  const whole = createAccount(perShare);
  const accounts = new Map<string, Account>();
  const queue = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;

  function ofAddress(address: string): Account {
    const account = accounts.get(address) ?? createAccount(perAddress);
    accounts.delete(address);
    if (accounts.size >= addressesMax) {
      for (const [other, { underWay }] of accounts) {
        if (underWay > 0) continue;
        accounts.delete(other);
        break;
      }
    }
    accounts.set(address, account);
    return account;
  }

  /** 0 where it may begin; infinite until another ends. */
  function waitLeftMs(account: Account): number {
    const both = [account, whole];
    if (both.some(({ underWay, atOnce }) => underWay >= atOnce)) return Number.POSITIVE_INFINITY;
    return Math.max(...both.map(({ bucket }) => computeWaitMs(bucket, monotonic())));
  }

  function begin(account: Account): Leave {
    for (const one of [account, whole]) {
      draw(one.bucket, 1);
      one.underWay++;
    }
    return () => {
      for (const one of [account, whole]) one.underWay--;
      next();
    };
  }

  /** Requests begin in the order of their arrival, but none waits for an address that must wait itself. */
  function next(): void {
    clearTimeout(timer);
    let soonest = Number.POSITIVE_INFINITY;
    for (const waiting of queue) {
      const left = waitLeftMs(waiting.account);
      if (left > 0) soonest = Math.min(soonest, left);
      else waiting.begin();
    }
    if (Number.isFinite(soonest)) timer = setTimeout(next, soonest);
  }

  const laterMs = (account: Account): number => {
    const left = waitLeftMs(account);
    return Number.isFinite(left) ? Math.max(1, left) : 1;
  };

  return {
    tryEnter: (address) => {
      const account = ofAddress(address);
      const isBehind = [...queue].some((waiting) => waiting.account === account);
      return isBehind || waitLeftMs(account) > 0 ? null : begin(account);
    },
    wait: async (address) => {
      const account = ofAddress(address);
      if (queue.size >= waitingMax) return laterMs(account);
      return new Promise((resolve) => {
        const waiting: Waiting = {
          account,
          begin: () => {
            clearTimeout(over);
            queue.delete(waiting);
            resolve(begin(account));
          },
        };
        const over = setTimeout(() => {
          queue.delete(waiting);
          resolve(laterMs(account));
        }, waitMsMax);
        queue.add(waiting);
        next();
      });
    },
  };
}

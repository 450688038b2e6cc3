/** Access by the token of a shared dashboard: which share it is, and how many requests at once it may send. */
import { createGuessBackOff } from "../../ingest/access/guess-back-off.js";
import type { Clock } from "../../store/lib/clock.js";
import { findShare, noteShareUsed, type Share } from "../../store/metadata/dashboards/shares.js";
import type { Db } from "../../store/metadata/db/db.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";
import { ApiError } from "./errors.js";
import { freePasswordFailures, waitsFor } from "./passwords.js";
import { createShareUse, perAddress, type ShareUse } from "./share-use.js";

export interface ShareAccess {
  /**
   * Lets in a request with the token of a share, which `leave` ends. A revoked one is found gone at once: nothing is
   * remembered of a token. @throws ApiError AUTH_FAILED, TOO_MANY_REQUESTS
   */
  enter(authorization: string | undefined, address: string): Promise<Visit>;
}

interface Visit {
  readonly share: Share;
  leave(): void;
}

/** Shares whose use is counted; the one that has been idle for longest is forgotten. */
const countedMax = 10_000;
/** `lastUsedAt` is so exact. */
const noteMs = 60_000;
/** All tokens count as one name: a guess names nobody. */
const anyShare = "";

export function createShareAccess(db: Db, { now, monotonic }: Clock): ShareAccess {
  const guesses = createGuessBackOff(monotonic, freePasswordFailures);
  const uses = new Map<number, ShareUse>();
  const noting = new Set<number>();

  function findShareUse(id: number): ShareUse {
    let use = uses.get(id);
    uses.delete(id);
    if (use === undefined) {
      use = createShareUse(monotonic);
      const [idle] = uses.size < countedMax ? [] : uses.keys();
      if (idle !== undefined) uses.delete(idle);
    }
    uses.set(id, use);
    return use;
  }

  function note({ id, lastUsedAt }: Share): void {
    const at = now();
    if (noting.has(id) || (lastUsedAt !== null && at - lastUsedAt < noteMs)) return;
    noting.add(id);
    const done = () => noting.delete(id);
    // The next request makes up for one that fails.
    noteShareUsed(db, id, at).then(done, done);
  }

  async function readShare(token: string, address: string): Promise<Share> {
    const share = await findShare(db, hashGenerated(token));
    if (share === undefined) {
      const leftMs = guesses.attempt(address, anyShare);
      throw leftMs > 0 ? waitsFor(leftMs) : denied();
    }
    if (share.enable !== 1 || (share.expiresAt !== null && share.expiresAt <= now())) throw denied();
    return share;
  }

  return {
    enter: async (authorization, address) => {
      const token = /^Share ([\w-]{20,64})$/i.exec(authorization ?? "")?.[1];
      if (token === undefined) throw denied();
      let share = await readShare(token, address);
      const use = findShareUse(share.id);
      let leave = use.tryEnter(address);
      if (leave === null) {
        const waited = await use.wait(address);
        if (typeof waited === "number") throw tooMany(waited);
        leave = waited;
        try {
          // The share may have been revoked while the request waited.
          share = await readShare(token, address);
        } catch (error) {
          leave();
          throw error;
        }
      }
      note(share);
      return { share, leave };
    },
  };
}

function denied(): ApiError {
  return new ApiError(
    "AUTH_FAILED",
    "missing or wrong token of a share",
    { token: "missing or wrong" },
    { "WWW-Authenticate": "Share" },
  );
}

function tooMany(leftMs: number): ApiError {
  const asked = `${perAddress.requestsPerSecond} requests a second of an address, and ${perAddress.atOnce} at once`;
  const headers = { "Retry-After": String(Math.max(1, Math.ceil(leftMs / 1000))) };
  return new ApiError("TOO_MANY_REQUESTS", `a share takes ${asked}: try again later`, {}, headers);
}

import { addressBlock } from "../../ingest/access/address-block.js";
import { createGuessBackOff } from "../../ingest/access/guess-back-off.js";
import { hasControls } from "../../store/lib/control-characters.js";
import type { Db } from "../../store/metadata/db/db.js";
import { newSecret } from "../../store/metadata/db/ids.js";
import { hashChosen } from "../../store/metadata/db/secrets.js";
import { findUser, type User } from "../../store/metadata/users/users.js";
import { ApiError } from "./errors.js";
import type { SlowSecrets } from "./slow-secrets.js";

/** Checks passwords, and slows down guessing by address and user name. */
export interface Passwords {
  /**
   * The user with this name and password; null for an unknown name and for a wrong password, which take equally long.
   *
   * @throws ApiError TOO_MANY_REQUESTS while that address waits because of wrong guesses
   * @throws StoreError UNAVAILABLE if the check is impossible now, which does not count as a failed attempt
   */
  check(username: string, password: string, address: string): Promise<User | null>;
}

/** The failed attempt that causes the first wait. */
export const freePasswordFailures = 5;

export function createPasswords(db: Db, monotonic: () => number, secrets: SlowSecrets): Passwords {
  const guesses = createGuessBackOff(monotonic, freePasswordFailures);
  /** Verified against when the user is unknown. */
  const nobody = hashChosen(newSecret());

  async function find(username: string, password: string, address: string): Promise<User | null> {
    const user = hasControls(username) ? undefined : await findUser(db, username);
    const hash = user?.passwordHash ?? (await nobody);
    // A wrong password is never reported sooner than an unknown user.
    const right =
      secrets.recall(password, hash) === true ||
      (await secrets.verify(password, hash, addressBlock(address)));
    return right && user !== undefined ? user : null;
  }

  return {
    check: async (username, password, address) => {
      const leftMs = guesses.attempt(address, username);
      if (leftMs > 0) throw waitsFor(leftMs);
      try {
        const user = await find(username, password, address);
        if (user !== null) guesses.succeeded(address, username);
        return user;
      } catch (error) {
        guesses.undecided(address, username);
        throw error;
      }
    },
  };
}

/** The error for a guesser who must wait for this many milliseconds. */
export function waitsFor(leftMs: number): ApiError {
  const headers = { "Retry-After": String(Math.ceil(leftMs / 1000)) };
  return new ApiError("TOO_MANY_REQUESTS", "too many failed attempts, try again later", {}, headers);
}

/** Why a broker could not be connected to, and whether another attempt may succeed. */
import { asError, StoreError } from "../../lib/errors.js";

/** Characters of an error's text, which may list all the names of a certificate. */
const reasonCharactersMax = 300;

/**
 * @param certificateFault what is wrong with the broker's certificate, as its socket has it
 * @returns MISMATCH for what another attempt would find again, else UNAVAILABLE
 */
export function connectFailure(name: string, thrown: unknown, certificateFault: unknown): StoreError {
  const error = asError(thrown);
  // The library's own error says no more than that it failed.
  const cause = asError(error.cause ?? error);
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const fail = (kind: "MISMATCH" | "UNAVAILABLE", why: string) =>
    new StoreError(kind, `cannot connect to broker ${name}: ${why}`);
  if (certificateFault)
    return fail("MISMATCH", `its certificate is refused: ${cause.message.slice(0, reasonCharactersMax)}`);
  // Versions, suites or alerts of TLS, or an answer that is none of it.
  if (code.startsWith("ERR_SSL_")) return fail("MISMATCH", `no TLS with it: ${code}`);
  return fail("UNAVAILABLE", describeReason(thrown));
}

export function describeReason(thrown: unknown): string {
  const { message, cause } = asError(thrown);
  return cause instanceof Error ? `${message.replace(/\.$/, "")} (${cause.message})` : message;
}

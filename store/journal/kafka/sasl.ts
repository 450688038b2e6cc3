/** Authenticates a user to a broker, over a link on which only its versions were requested. */
import { asError, StoreError } from "../../lib/errors.js";
import type { SaslUser } from "./link-security.js";
import { describeCode, kafkaCodes, type SendRequest, saslCalls } from "./protocol.js";
import { startScram } from "./scram.js";

/** Characters of what a broker says of itself. */
const messageCharactersMax = 200;

/**
 * Resolves with the milliseconds for which the user stays authenticated; 0: as long as the link is open. Error texts of
 * the broker are not passed on: they may repeat what it was sent.
 * @param name of the broker, for messages
 * @throws StoreError DENIED if the broker does not take the user, MISMATCH, UNAVAILABLE
 */
export async function authenticateLink(
  send: SendRequest,
  name: string,
  { mechanism, user, password }: SaslUser,
  left: () => number,
): Promise<number> {
  const cannotUse = (cause: string) => new StoreError("MISMATCH", `cannot use broker ${name}: ${cause}`);
  const failed = (code: number) => new StoreError("UNAVAILABLE", `broker ${name}: ${describeCode(code)}`);

  async function agree(): Promise<void> {
    const { errorCode, mechanisms = [] } = await send(saslCalls.handshake, [mechanism], left());
    if (errorCode === kafkaCodes.illegalSaslState) throw cannotUse("it asks for no user at this port");
    if (errorCode === kafkaCodes.unsupportedSaslMechanism)
      throw cannotUse(
        `it does not take ${mechanism}, but ${mechanisms.join(", ").slice(0, messageCharactersMax)}`,
      );
    if (errorCode !== kafkaCodes.none) throw failed(errorCode);
  }

  async function tell(text: string) {
    const answer = await send(saslCalls.authenticate, [Buffer.from(text)], left());
    if (answer.errorCode === kafkaCodes.saslAuthenticationFailed)
      throw new StoreError("DENIED", `broker ${name} does not take user ${user} (${mechanism})`);
    if (answer.errorCode !== kafkaCodes.none) throw failed(answer.errorCode);
    return { text: String(answer.authBytes), sessionMs: Number(answer.sessionLifetimeMs) };
  }

  await agree();
  if (mechanism === "PLAIN") return (await tell(`\0${user}\0${password}`)).sessionMs;
  const scram = startScram(mechanism === "SCRAM-SHA-256" ? "sha256" : "sha512", user, password);
  const first = await tell(scram.first);
  const proof = await scram.prove(first.text).catch((error: unknown) => {
    throw cannotUse(asError(error).message);
  });
  const last = await tell(proof.message);
  if (!proof.isAnsweredBy(last.text)) {
    throw new StoreError("DENIED", `broker ${name} does not prove that it knows user ${user} (${mechanism})`);
  }
  return last.sessionMs;
}

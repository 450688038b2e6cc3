/** The client's side of SCRAM (RFC 5802, RFC 7677), without channel binding: texts in, texts out. */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

type ScramHash = "sha256" | "sha512";

interface ScramExchange {
  /** The first message to the server. */
  readonly first: string;
  /** Creates the proof of the user, in answer to the server's first message. @throws Error if that cannot be used */
  prove(serverFirst: string): Promise<ScramProof>;
}

interface ScramProof {
  readonly message: string;
  /** Whether the server's last message shows that it knows the user too. */
  isAnsweredBy(serverFinal: string): boolean;
}

const derive = promisify(pbkdf2);
const keyBytes = { sha256: 32, sha512: 64 } as const;
/** "No channel binding", as both sides say it; the second form is its base64. */
const binding = "n,,";
const bindingProof = "biws";
/** Fewer make the password easy to guess for who poses as the server; more only cost time. */
const iterationsMin = 4096;
const iterationsMax = 1_000_000;
/** Extensions may follow; one that must be understood stands first (m=), and ends the exchange. */
const serverFirstForm = /^r=([^,]+),s=([A-Za-z0-9+/=]+),i=(\d{1,7})(?:,|$)/;

/** @param nonce printable, without commas; a test's own */
export function startScram(
  hash: ScramHash,
  user: string,
  password: string,
  nonce = randomBytes(24).toString("base64"),
): ScramExchange {
  const hmac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest();
  const bare = `n=${user.replaceAll("=", "=3D").replaceAll(",", "=2C")},r=${nonce}`;

  async function createProof(serverFirst: string): Promise<ScramProof> {
    const [, bothNonces = "", salt = "", digits] = serverFirstForm.exec(serverFirst) ?? [];
    const iterations = Number(digits);
    if (!bothNonces.startsWith(nonce) || bothNonces.length === nonce.length)
      throw new Error("its answer is not SCRAM's");
    if (iterations < iterationsMin || iterations > iterationsMax)
      throw new Error(`it asks for ${iterations} iterations, not ${iterationsMin} to ${iterationsMax}`);
    const salted = await derive(password, Buffer.from(salt, "base64"), iterations, keyBytes[hash], hash);
    const message = `c=${bindingProof},r=${bothNonces}`;
    const exchange = `${bare},${serverFirst},${message}`;
    const clientKey = hmac(salted, "Client Key");
    const signature = hmac(createHash(hash).update(clientKey).digest(), exchange);
    const proof = clientKey.map((byte, i) => byte ^ (signature[i] ?? 0));
    const expected = hmac(hmac(salted, "Server Key"), exchange);
    return {
      message: `${message},p=${Buffer.from(proof).toString("base64")}`,
      isAnsweredBy: (serverFinal) => {
        const given = Buffer.from(/^v=([A-Za-z0-9+/=]+)/.exec(serverFinal)?.[1] ?? "", "base64");
        return given.length === expected.length && timingSafeEqual(given, expected);
      },
    };
  }

  return { first: `${binding}${bare}`, prove: createProof };
}

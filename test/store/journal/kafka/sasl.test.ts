/** Users that authenticate at brokers, good and bad ones. */
import type { SaslMechanism } from "../../../../store/journal/kafka/link-security.js";
import { type SendRequest, saslCalls } from "../../../../store/journal/kafka/protocol.js";
import { authenticateLink } from "../../../../store/journal/kafka/sasl.js";
import { startScram } from "../../../../store/journal/kafka/scram.js";
import { StoreError } from "../../../../store/lib/errors.js";
import { assert, rejects, suite } from "../../../suite.js";

/** The example of RFC 7677. */
const nonce = "rOprNGfwEbeRWgbNEkqO";
const bothNonces = `${nonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0`;
const salt = "W22ZaJ0SNY7soEsUEjb6gQ==";
const serverFinal = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

suite("SCRAM", (test) => {
  test("the example of its standard comes out as it is printed there", async () => {
    const scram = startScram("sha256", "user", "pencil", nonce);
    assert.is(scram.first, `n,,n=user,r=${nonce}`);
    const proof = await scram.prove(`r=${bothNonces},s=${salt},i=4096`);
    assert.is(proof.message, `c=biws,r=${bothNonces},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`);
    assert.is(proof.isAnsweredBy(serverFinal), true);
    const wrong = serverFinal.replace("v=6", "v=7");
    for (const one of ["", "v=", "e=other-error", wrong, serverFinal.slice(0, -8), "v=****"]) {
      assert.is(proof.isAnsweredBy(one), false, one);
    }
  });

  test("commas and equals signs in a name do not end it", () => {
    const { first } = startScram("sha512", "a=b,c,=", "x", "n");
    assert.is(first, "n,,n=a=3Db=2Cc=2C=3D,r=n");
  });

  test("first answers of a server that cannot be used are refused", async () => {
    const scram = startScram("sha256", "user", "pencil", nonce);
    const answers = [
      "",
      "e=unknown-user",
      `r=${nonce},s=${salt},i=4096`,
      `r=another${nonce},s=${salt},i=4096`,
      `r=${bothNonces},i=4096`,
      `r=${bothNonces},s=${salt}`,
      `r=${bothNonces},s=${salt},i=99999999`,
      `r=${bothNonces},s=${salt},i=4096x`,
      `m=must,r=${bothNonces},s=${salt},i=4096`,
    ];
    for (const one of answers) await rejects(() => scram.prove(one), /^its answer is not SCRAM's$/);
    for (const count of [0, 1, 4095, 1_000_001]) {
      const few = `r=${bothNonces},s=${salt},i=${count}`;
      await rejects(() => scram.prove(few), new RegExp(`asks for ${count} iterations, not 4096 to 1000000$`));
    }
  });
});

suite("users of brokers", (test) => {
  const password = "s3cret";

  interface Answers {
    readonly handshake?: { readonly errorCode: number; readonly mechanisms?: readonly string[] };
    /** To each message in turn. */
    readonly messages?: readonly { readonly errorCode?: number; readonly text?: string }[];
  }

  /** The user's result at a broker with these answers, and the messages that the broker received. */
  async function prove({ handshake, messages = [] }: Answers, mechanism: SaslMechanism = "SCRAM-SHA-512") {
    const sent: string[] = [];
    const call = async (api: unknown, [what]: readonly unknown[]) => {
      if (api === saslCalls.handshake) return { errorCode: 0, mechanisms: [mechanism], ...handshake };
      const { errorCode = 0, text = "" } = messages[sent.push(String(what)) - 1] ?? {};
      const errorMessage = `wrong: ${password}`;
      return { errorCode, errorMessage, authBytes: Buffer.from(text), sessionLifetimeMs: 7000n };
    };
    const ending = authenticateLink(
      call as SendRequest,
      "k1:9092",
      { mechanism, user: "alice", password },
      () => 1000,
    );
    const told = await ending.catch((error: unknown) => {
      assert.instance(error, StoreError);
      return `${(error as StoreError).code} ${(error as StoreError).message}`;
    });
    return { told, sent };
  }

  test("PLAIN sends name and password once, and returns how long they count", async () => {
    assert.equal(await prove({}, "PLAIN"), { told: 7000, sent: [`\0alice\0${password}`] });
  });

  test("a user who is refused is reported as such, in our words alone", async () => {
    const { told } = await prove({ messages: [{ errorCode: 58 }] }, "PLAIN");
    assert.is(told, "DENIED broker k1:9092 does not take user alice (PLAIN)");
    const scram = await prove({ messages: [{ errorCode: 58 }] });
    assert.is(scram.told, "DENIED broker k1:9092 does not take user alice (SCRAM-SHA-512)");
  });

  test("a broker that does not know the user itself is not trusted", async () => {
    let messages = 0;
    // Its nonce must begin with ours, which is known once the first message is sent.
    const first = (sent: string) => `r=${/r=(.*)/.exec(sent)?.[1]}x,s=${salt},i=4096`;
    const call = async (api: unknown, [what]: readonly unknown[]) => {
      if (api === saslCalls.handshake) return { errorCode: 0, mechanisms: [] };
      const text = messages++ === 0 ? first(String(what)) : serverFinal;
      return { errorCode: 0, authBytes: Buffer.from(text), sessionLifetimeMs: 0n };
    };
    const user = { mechanism: "SCRAM-SHA-256", user: "alice", password } as const;
    const error = await rejects(() => authenticateLink(call as SendRequest, "k1:9092", user, () => 1000));
    assert.is(error.message, "broker k1:9092 does not prove that it knows user alice (SCRAM-SHA-256)");
    assert.is(messages, 2);
  });

  test("a mechanism that a broker does not offer, or a senseless answer, is reported", async () => {
    const none = await prove({ handshake: { errorCode: 34 } });
    assert.is(none.told, "MISMATCH cannot use broker k1:9092: it asks for no user at this port");
    const other = await prove({ handshake: { errorCode: 33, mechanisms: ["PLAIN", "GSSAPI"] } });
    assert.is(
      other.told,
      "MISMATCH cannot use broker k1:9092: it does not take SCRAM-SHA-512, but PLAIN, GSSAPI",
    );
    const noise = await prove({ messages: [{ text: "no,sense" }] });
    assert.is(noise.told, "MISMATCH cannot use broker k1:9092: its answer is not SCRAM's");
    const unknown = await prove({ messages: [{ errorCode: 999 }] });
    assert.is(unknown.told, "UNAVAILABLE broker k1:9092: error 999");
  });
});

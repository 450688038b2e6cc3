/** Where the journal is kept, as a setting says it. */
import { readJournalURL } from "../../src/config/journal.js";
import { assert, suite } from "../suite.js";

const broker = (host: string, port = 9092) => ({ host, port });
const inTheClear = { tls: false, sasl: null };

suite("where the journal is kept", (test) => {
  test("brokers and topic are read, and have defaults", () => {
    const brokers = [broker("k1"), broker("10.0.0.2", 19_092), broker("fd00::5", 9093), broker("fd00::6")];
    const list = "k1,10.0.0.2:19092,[fd00::5]:9093,[fd00::6]";
    for (const end of ["", "/"]) {
      const expected = { brokers, topic: "tidemark", security: inTheClear };
      assert.equal(readJournalURL(`kafka://${list}${end}`), expected);
    }
    const topic = `${"a".repeat(240)}Z._-09..`;
    assert.equal(readJournalURL(`kafkas://k1.example:1/${topic}`), {
      brokers: [broker("k1.example", 1)],
      topic,
      security: { tls: true, sasl: null },
    });
    const many = Array.from({ length: 32 }, (_, i) => `k${i}`);
    const read = readJournalURL(`kafka://${many.join()}`);
    assert.is(typeof read === "object" && read.brokers.length, 32);
  });

  test("a user is authenticated by SCRAM-SHA-512 unless it says otherwise; characters stand as %XX", () => {
    const saslOf = (text: string) => {
      const read = readJournalURL(text);
      return typeof read === "string" ? read : read.security.sasl;
    };
    const user = { user: "tide mark", password: "a:b@c/d?e#é%" };
    const login = "tide%20mark:a:b%40c%2Fd%3Fe%23%C3%A9%25";
    assert.equal(saslOf(`kafka://${login}@k1/t`), { ...user, mechanism: "SCRAM-SHA-512" });
    assert.equal(saslOf(`kafka://${login}@k1?sasl=scram-sha-256`), { ...user, mechanism: "SCRAM-SHA-256" });
    assert.equal(saslOf(`kafkas://${login}@k1/?sasl=scram-sha-512`), { ...user, mechanism: "SCRAM-SHA-512" });
    assert.equal(saslOf(`kafkas://${login}@k1/t?sasl=plain`), { ...user, mechanism: "PLAIN" });
  });

  test("each fault is reported in one line, without the password", () => {
    const secret = "s3cret";
    const login = `user:${secret}@`;
    const faults: readonly (readonly [fault: RegExp, texts: readonly string[]])[] = [
      [
        /^must be kafka:\/\/ or kafkas:\/\//,
        [
          "",
          "kafka://",
          `http://${login}k1`,
          `KAFKA://${login}k1`,
          `kafka://${login}`,
          `kafka://${login}k1/a/b`,
          `kafka://${login}k1#t`,
          `kafka://user:${secret}@x@k1`,
          `kafka://user:${secret}#x@k1`,
          `kafka://${login}k1?sasl=plain?x`,
          `kafka://user:${secret}/x/y@k1`,
        ],
      ],
      [
        /^its brokers must be/,
        [
          `kafka://${login}k1,`,
          `kafka://${login},k1`,
          `kafka://${login}k1,,k2`,
          `kafka://${login}k1:0`,
          `kafka://${login}k1:65536`,
          `kafka://${login}k1: 9092`,
          `kafka://${login}k 1`,
          `kafka://${login}fd00::5`,
          `kafka://${login}[fd00::5::]:1`,
          `kafka://${login}[10.0.0.1]:1`,
          `kafka://${login}k1\n`,
          `kafka://user:${secret}/x@k1`,
        ],
      ],
      [/^must name 1 to 32 brokers$/, [`kafka://${Array.from({ length: 33 }, (_, i) => `k${i}`).join()}`]],
      [/^names a broker twice$/, [`kafka://${login}k1,k2,k1:9092`]],
      [
        /^its topic must be/,
        [
          `kafka://${login}k1/.`,
          `kafka://${login}k1/..`,
          `kafka://${login}k1/a b`,
          `kafka://${login}k1/é`,
          `kafka://${login}k1/${"a".repeat(250)}`,
          `kafka://user:9/${secret}@k1`,
        ],
      ],
      [
        /^may have \?sasl=/,
        [
          `kafka://${login}k1?sasl=`,
          `kafka://${login}k1?sasl=gssapi`,
          `kafka://${login}k1?sasl=PLAIN`,
          `kafka://${login}k1?sasl=plain&sasl=plain`,
          `kafka://${login}k1?ca=/etc/ca.pem`,
          `kafka://user:9?${secret}`,
        ],
      ],
      [/^has \?sasl= but no user$/, ["kafkas://k1?sasl=plain"]],
      [
        /^must have a user and a password before its @$/,
        ["kafka://@k1", "kafka://user@k1", "kafka://user:@k1", `kafka://:${secret}@k1`],
      ],
      [
        /^its user and password must have up to 1024 characters/,
        [
          `kafka://user:${secret}%@k1`,
          `kafka://user:${secret}%zz@k1`,
          `kafka://user:${secret}%FF@k1`,
          `kafka://us%00er:${secret}@k1`,
          `kafka://user:${secret}%0A@k1`,
          `kafka://user:${secret}${"x".repeat(1024)}@k1`,
        ],
      ],
      [/^must be kafkas:\/\/ with \?sasl=plain/, [`kafka://${login}k1?sasl=plain`]],
    ];
    for (const [fault, texts] of faults) {
      for (const text of texts) {
        const told = readJournalURL(text);
        assert.type(told, "string", text);
        assert.match(told as string, fault, text);
        assert.not.match(told as string, secret);
        assert.not.match(told as string, "\n");
      }
    }
  });
});

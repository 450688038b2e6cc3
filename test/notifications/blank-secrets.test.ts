import fc from "fast-check";
import { blankSecrets } from "../../src/contact-points/blank-secrets.js";
import { assert, suite } from "../suite.js";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

suite("secrets in answers", (test) => {
  test("a secret is blanked as it is, in base64 wherever it stands, in percent encoding and in JSON", () => {
    const text = fc.string({ maxLength: 20 });
    fc.assert(
      fc.property(fc.string({ minLength: 12, maxLength: 60 }), text, text, (password, before, after) => {
        const blanked = (form: string) => blankSecrets(form, { password });
        for (const form of [password, encodeURIComponent(password), JSON.stringify({ password })]) {
          assert.match(blanked(`${before}${form}${after}`), "***");
        }
        assert.not.match(blanked(`x ${password} x`), password.includes("*") ? "\u0000" : password);
        // What is left of it in the middle of a longer text is less than its first and last bytes.
        const [told = ""] = [blanked(base64(`${before}${password}${after}`))];
        assert.match(told, "***");
        const kept = Buffer.from(told.split("***")[0] ?? "", "base64").toString();
        assert.not.match(kept, password);
      }),
    );
  });

  test("the parts of an address that may be tokens are blanked, what is short or public is not", () => {
    const url = "https://hooks.example.com/services/T024/B8E0123456?token=abc123&n=1";
    const secrets = { url, authorization: "Basic bWU6cHc=", secret: "whsec_c2VjcmV0IQ==" };
    assert.is(
      blankSecrets(
        `POST ${url} at hooks.example.com: B8E0123456, abc123, bWU6cHc=, c2VjcmV0IQ==, n=1`,
        secrets,
      ),
      "POST *** at hooks.example.com: ***, ***, ***, ***, n=1",
    );
    assert.is(blankSecrets("200 OK 1", { password: "1", headers: '{"X-Env":"OK"}' }), "200 OK 1");
    assert.is(blankSecrets("200 OK", {}), "200 OK");
  });

  test("a longer secret is blanked before a shorter one that is part of it", () => {
    const headers = JSON.stringify({ "X-A": "abcd", "X-B": "xxabcdxx" });
    assert.is(blankSecrets("xxabcdxx abcd", { headers }), "*** ***");
  });
});

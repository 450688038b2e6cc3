import { refuseParameters } from "../../src/http/list-query.js";
import { assert, suite } from "../suite.js";

suite("parameters that cannot be filters", (test) => {
  const refused = new Set(["token", "token_like"]);

  test("are found in the address as it came, be it a URL or not", () => {
    for (const url of [
      "http://x/a?token=1",
      "http://[/a?b=2&token_like=1#c",
      "/a?token=1",
      "http://a b/?%74oken=1",
    ]) {
      assert.throws(() => refuseParameters(url, refused), /./, url);
    }
    for (const url of ["http://x/a", "http://[/a?b=2", "/a?token=", "http://x:99999/a?b=1#?token=1", ""]) {
      refuseParameters(url, refused);
    }
  });
});

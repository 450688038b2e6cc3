/** The grammars by themselves: a seed is a case, and what they build without a change is well formed. */
import mqttPacket from "mqtt-packet";
import { assert, suite } from "../suite.js";
import { caseOf, grammars, type Known } from "./cases.js";
import { operationsOf } from "./http-grammar.js";
import { connect, versions } from "./mqtt-grammar.js";
import { createRandom } from "./random.js";
import { bytesOf } from "./tree.js";

const credentials = { username: "u", password: "p" };
const body = { content: { "application/json": { schema: { $ref: "#/components/schemas/One" } } } };
const known: Known = {
  reference: operationsOf({
    paths: {
      "/ones/{id}": { get: { parameters: [{ in: "query", name: "q" }] }, post: { requestBody: body } },
      "/devices/live": { get: {} },
    },
    components: {
      schemas: { One: { properties: { name: { type: "string" }, count: { type: "integer" } } } },
    },
  }),
  authorization: "Bearer x",
  devices: [credentials],
};

suite("cases of the fuzzer", (test) => {
  test("a grammar and a seed always make the same case", () => {
    for (const grammar of grammars) {
      for (let seed = 0; seed < 30; seed++) {
        const [one, again] = [caseOf(grammar, seed, known), caseOf(grammar, seed, known)];
        assert.equal(Buffer.concat(one.writes).toString("hex"), Buffer.concat(again.writes).toString("hex"));
        assert.is(one.brokenOff, again.brokenOff);
      }
    }
  });

  test("other seeds are other cases", () => {
    for (const grammar of grammars) {
      const all = Array.from({ length: 30 }, (_, seed) => caseOf(grammar, seed, known).writes.join());
      assert.ok(new Set(all).size > 20, grammar);
    }
  });

  test("routes with an endless answer are left out, and nothing else", () => {
    assert.equal(
      known.reference.operations.map(({ method, path }) => `${method} ${path}`),
      ["GET /ones/{id}", "POST /ones/{id}"],
    );
  });

  test("a CONNECT without a change is one that other readers take", () => {
    for (const version of versions) {
      let read = 0;
      for (let seed = 0; seed < 40; seed++) {
        const parser = mqttPacket.parser({ protocolVersion: version });
        parser.on("error", () => undefined);
        parser.on("packet", ({ cmd }) => {
          if (cmd === "connect") read++;
        });
        parser.parse(bytesOf(connect(version, credentials, createRandom(seed))));
      }
      // In MQTT 5 some properties of other packets are among them.
      assert.ok(read >= (version === 5 ? 15 : 40), `${read} of version ${version}`);
    }
  });
});

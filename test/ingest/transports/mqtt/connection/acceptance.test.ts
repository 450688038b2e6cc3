/** What a node that passes a client on sees in the owner's first answer. */
import { PassThrough } from "node:stream";
import { onAcceptance } from "../../../../../ingest/transports/mqtt/connection/connack.js";
import { assert, suite } from "../../../../suite.js";

/** Whether the client counts as let in after each of the pieces. */
async function afterEach(pieces: readonly (readonly number[])[]): Promise<boolean[]> {
  const stream = new PassThrough();
  let isIn = false;
  onAcceptance(stream, () => {
    assert.is(isIn, false, "it is reported once");
    isIn = true;
  });
  const found: boolean[] = [];
  for (const piece of pieces) {
    stream.write(Buffer.from(piece));
    await new Promise((resolve) => setImmediate(resolve));
    found.push(isIn);
  }
  return found;
}

suite("the first answer of an owner", (test) => {
  // MQTT 3.1.1 §3.2: type, remaining length, flags, return code.
  const accepted = [0x20, 2, 0, 0];

  test("lets the client in wherever it is cut", async () => {
    assert.equal(await afterEach([accepted]), [true]);
    assert.equal(await afterEach(accepted.map((byte) => [byte])), [false, false, false, true]);
    assert.equal(await afterEach([accepted.slice(0, 3), accepted.slice(3), accepted]), [false, true, true]);
  });

  test("may have a remaining length of several bytes (MQTT 5.0 §3.2.1)", async () => {
    const long = [0x20, 0x80, 0x81, 0x00, 1, 0];
    assert.equal(await afterEach([long]), [true]);
    assert.equal(await afterEach(long.map((byte) => [byte])), [false, false, false, false, false, true]);
  });

  test("that refuses it, or is something else, does not", async () => {
    assert.equal(await afterEach([[0x20, 2, 0, 5]]), [false]);
    assert.equal(await afterEach([[0x20, 2, 0], [4], accepted]), [false, false, false]);
    assert.equal(await afterEach([[0xe0, 0, 0, 0]]), [false]);
  });
});

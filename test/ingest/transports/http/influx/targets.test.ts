import type { DeviceEntry } from "../../../../../ingest/directory/entries.js";
import { createTargets, type Target } from "../../../../../ingest/transports/http/influx/targets.js";
import { assert, suite } from "../../../../suite.js";

const points = new Set(["f", "m_f", "m_f_x", "g_x_y", "a_b"]);
const writer = { id: 1, device: { deviceID: "w" }, product: { points } } as unknown as DeviceEntry;

suite("targets of line protocol", (test) => {
  const targetOf = async (head: string, targets = createTargets(writer, async () => undefined)) =>
    (await targets.find(head)) as Target;

  test("a field is the first of its forms that the product has", async () => {
    const named = async (head: string, field: string) => (await targetOf(head)).key(field).json;
    assert.is(await named("m,t=x", "f"), '"m_f_x":');
    assert.is(await named("m,t=z", "f"), '"m_f":');
    assert.is(await named("n", "f"), '"f":');
    assert.is(await named("m,u=y,t=x", "g"), '"g_x_y":');
    assert.is(await named("a", "b"), '"a_b":');
    assert.is(await named("a", "b b"), '"b b":');
    assert.is(await named(`m,t=${"x".repeat(4000)}`, "f"), '"m_f":');
    assert.is(await named("m", "f".repeat(100)), `"${"f".repeat(100)}":`);
  });

  test("what one request makes is remembered up to a bound, of all its lines together", async () => {
    const targets = createTargets(writer, async () => undefined);
    const first = await targetOf("m,t=0", targets);
    assert.is(first.key("f0"), first.key("f0"));
    for (let head = 0; head < 60; head++) {
      const target = await targetOf(`m,t=${head}`, targets);
      for (let field = 0; field < 2000; field++) target.key(`f${field}`);
    }
    const late = await targetOf("m,t=late", targets);
    assert.is.not(late.key("f0"), late.key("f0"), "nothing more is remembered");
    assert.is(first.key("f0"), first.key("f0"));
  });
});

import type { DeviceEntry } from "../../../../../ingest/directory/entries.js";
import {
  createWriteTargets,
  type WriteTarget,
} from "../../../../../ingest/transports/http/influx/targets.js";
import { assert, suite } from "../../../../suite.js";

const points = new Set(["f", "m_f", "m_f_x", "g_x_y", "a_b"]);
const writer = { id: 1, device: { deviceID: "w" }, product: { points } } as unknown as DeviceEntry;

const nothingBelow = { below: async () => new Map<string, number>(), get: async () => undefined };

suite("targets of line protocol", (test) => {
  const targetOf = async (head: string, targets = createWriteTargets(writer, nothingBelow)) =>
    (await targets.find(head)) as WriteTarget;

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

  test("a tag `device` of another name in each line looks up only devices that are below the writer", async () => {
    const children = new Map([
      ["d7", 7],
      ["d9", 9],
    ]);
    for (const isGateway of [false, true]) {
      const asked: number[] = [];
      const carrier = { ...writer, device: { deviceID: "w", isGateway } } as DeviceEntry;
      const targets = createWriteTargets(carrier, {
        below: async () => children,
        get: async (id) => {
          asked.push(id);
          return { ...writer, id, device: { deviceID: `d${id}` } } as DeviceEntry;
        },
      });
      let refused = 0;
      for (let line = 0; line < 5000; line++) {
        const found = await targets.find(`m,device=d${line}`);
        if (typeof found === "string") refused++;
        else assert.is(found.child, children.has(`d${line}`) ? `d${line}` : null);
      }
      assert.equal(asked, [7, 9]);
      assert.is(refused, isGateway ? 4998 : 0, "a gateway may name its own only");
    }
  });

  test("what one request makes is remembered up to a bound, of all its lines together", async () => {
    const targets = createWriteTargets(writer, nothingBelow);
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

import { makePolicy, policyBody } from "../factories.js";
import { assert } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const path = "/api/v1/policies";
const stored = [
  ...["id", "name", "topic", "access", "allow", "description", "mqtt_acl", "userIntID"],
  ...["createAt", "updateAt"],
];
const listed = [...stored, "accessLabel", "allowLabel"];

worldSuite("policies", (test, world) => {
  testResource(test, world, {
    path,
    body: async () => policyBody(),
    required: ["name", "topic", "access", "allow"],
    optional: { description: "the roof's own" },
    fixed: {},
    name: "name",
    keys: { stored, detail: [...listed, "createUser"], listed },
  });

  test("access and allow take their codes, also as text, with their labels", async () => {
    for (const [access, label] of ["发布", "订阅", "发布和订阅"].entries()) {
      const { id } = await makePolicy(world, { access: String(access) });
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      assert.equal([detail.access, detail.accessLabel], [access, label]);
    }
    for (const [allow, label] of ["拒绝", "允许"].entries()) {
      const { id } = await makePolicy(world, { allow });
      const detail = (await world.call("GET", `${path}/${id}`)).record;
      assert.equal([detail.allow, detail.allowLabel], [allow, label]);
    }
    for (const access of [-1, 3, 0.5, "publish"]) {
      refused(await world.call("POST", path, policyBody({ access })), "PARAMETER_INVALID", "access");
    }
    refused(await world.call("POST", path, policyBody({ allow: 2 })), "PARAMETER_INVALID", "allow");
    const { items } = (await world.call("GET", `${path}?access=1`)).page;
    assert.ok(items.length > 0 && items.every((item) => item.access === 1));
  });

  test("topic is a topic filter", async () => {
    for (const topic of ["#", "+", "a/+/b", "/", "a//b", "%d/up/#", "%u", "温度/+", "$time", " "]) {
      assert.is((await makePolicy(world, { topic })).topic, topic);
    }
    for (const topic of ["", "a+", "a/#/b", "#/a", "a/b#", "a\u0000b", "$share/g/a", "x".repeat(1025)]) {
      const reply = await world.call("POST", path, policyBody({ topic }));
      refused(reply, "PARAMETER_INVALID", "topic");
      const { id } = await makePolicy(world);
      refused(await world.call("PUT", `${path}/${id}`, { topic }), "PARAMETER_INVALID", "topic");
    }
  });

  test("both variants show the same record", async () => {
    const { id } = await makePolicy(world);
    const asB = { headers: { "Api-Variant": "B" } };
    for (const url of [`${path}/${id}`, path]) {
      assert.is((await world.call("GET", url, undefined, asB)).text, (await world.call("GET", url)).text);
    }
  });
});

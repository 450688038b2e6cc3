/**
 * Names and policies that look like a broker's own placeholders: no rule that is written has one, and by the rules of
 * Mosquitto 2.1, which puts client id and user name in for `%c` and `%u`, no client gets beyond its own branch.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { compilePolicies } from "../../../../ingest/policies.js";
import { type DynamicSecurity, dynamicSecurity } from "../../../../src/brokers/mosquitto.js";
import { mergeInto } from "../../../../src/brokers/mosquitto-file.js";
import type { BrokerDevice } from "../../../../store/metadata/devices/broker-devices.js";
import { repositoryRoot } from "../../../repository.js";
import { assert, suite } from "../../../suite.js";

const documented = join(repositoryRoot(), "docs/brokers/");
/** EMQX and HiveMQ. */
const braced = (name: string) => `$${name}`;
const words = [
  "%c",
  "%u",
  "%C",
  "%m",
  "x%u",
  "%%d",
  braced("{clientid}"),
  braced("{{username}}"),
  `a${braced("{x}")}b`,
  "%",
] as const;
const names = fc.constantFrom("victim", "c", "u", "a", ...words);
const level = fc.constantFrom("a", "+", "%d", "%u", "secret", ...words);
const topic = fc.array(level, { minLength: 1, maxLength: 3 }).map((levels) => levels.join("/"));
const rule = fc.record({
  id: fc.integer({ min: 1, max: 9 }),
  topic,
  access: fc.constantFrom(0, 1, 2),
  allow: fc.constantFrom(0, 1),
});
const device = fc.record({
  deviceID: names,
  deviceUsername: names,
  token: fc.constant(null),
  blocked: fc.constant(false),
  rules: fc.array(rule, { maxLength: 3 }),
  // Without tokens nothing is hashed: it enters by a certificate.
  commonNames: names.map((name) => [`cert-${name}`]),
});
const fleet = fc
  .uniqueArray(device, { selector: ({ deviceID }) => deviceID, minLength: 1, maxLength: 5 })
  .map((all) => all.map((one, i): BrokerDevice => ({ ...one, id: i + 1 })));

const own = { username: "tidemark", password: "x" };

async function written(devices: readonly BrokerDevice[]) {
  const made = await dynamicSecurity(inOne(devices), own);
  return { ...made, merged: mergeInto({ clients: [], groups: [], roles: [] }, made) };
}

async function* inOne(devices: readonly BrokerDevice[]) {
  yield devices;
}

/** Every text in it, whichever key it has. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** Mosquitto 2.1's plugin: the highest priority that fits decides; `%c` and `%u` are the client's names. */
function mayPublish(config: DynamicSecurity, username: string, clientID: string, named: string): boolean {
  const client = config.clients.find((one) => one.username === username);
  const acls = (client?.roles ?? []).flatMap(({ rolename, priority = 0 }) =>
    (config.roles.find((role) => role.rolename === rolename)?.acls ?? []).map((acl) => ({
      ...acl,
      of: priority,
    })),
  );
  const fitting = acls
    .filter(({ acltype }) => acltype === "publishClientSend")
    .filter((acl) => fits(acl.topic.split("/"), named.split("/"), username, clientID))
    .sort((a, b) => b.of - a.of || b.priority - a.priority);
  return fitting[0]?.allow ?? config.defaultACLAccess?.publishClientSend === true;
}

function fits(
  filter: readonly string[],
  levels: readonly string[],
  username: string,
  clientID: string,
): boolean {
  const [wanted, ...rest] = filter;
  if (wanted === "#") return true;
  if (wanted === undefined || levels.length === 0) return wanted === undefined && levels.length === 0;
  const meant = wanted === "%c" ? clientID : wanted === "%u" ? username : wanted;
  return (meant === "+" || meant === levels[0]) && fits(rest, levels.slice(1), username, clientID);
}

suite("placeholders of brokers in names and policies", (test) => {
  test("no rule that is written has one, whatever devices and policies are called", () =>
    fc.assert(
      fc.asyncProperty(fleet, async (devices) => {
        const { config, merged, unwritten } = await written(devices);
        for (const { roles, clients } of [config, merged.config]) {
          const texts = [...roles, ...clients.map(({ username }) => username)].flatMap(textsOf);
          assert.equal(
            texts.filter((text) => text.includes(braced("{")) || /%[a-zA-Z]/.test(text)),
            [],
          );
        }
        assert.equal(merged.unwritten, unwritten);
        const out = new Set(unwritten.devices.map(({ deviceID }) => deviceID));
        for (const one of devices) {
          const odd = [one.deviceID, one.deviceUsername, ...one.commonNames].some((name) =>
            /%[a-z]|\$\{/i.test(name),
          );
          assert.is(out.has(one.deviceID), odd, one.deviceID);
          const sharing = devices.filter(({ commonNames }) => commonNames[0] === one.commonNames[0]);
          const isThere = config.clients.some(({ username }) => one.commonNames.includes(username));
          assert.is(
            isThere,
            sharing.some(({ deviceID }) => !out.has(deviceID)),
          );
        }
      }),
      { numRuns: 300 },
    ));

  test("by the rules of Mosquitto 2.1 a client says what its own policies let it, in its own branch", () =>
    fc.assert(
      fc.asyncProperty(fleet, names, topic, async (devices, clientID, said) => {
        const { config } = await written(devices);
        for (const one of devices) {
          for (const username of one.commonNames) {
            const sharing = devices.filter(({ commonNames }) => commonNames.includes(username));
            for (const target of devices) {
              for (const spoken of [said, "a", "secret", clientID]) {
                if (/[+#]/.test(spoken)) continue;
                if (!mayPublish(config, username, clientID, `devices/${target.deviceID}/up/${spoken}`))
                  continue;
                assert.ok(sharing.includes(target), `${username} as ${target.deviceID}`);
                assert.ok(compilePolicies(target.rules, target)?.mayPublish(spoken) ?? true, spoken);
              }
            }
          }
        }
      }),
      { numRuns: 300 },
    ));

  test("a policy that cannot be written is named, allows nothing, and denies the whole level", async () => {
    const of = (rules: BrokerDevice["rules"]): BrokerDevice => ({
      id: 1,
      deviceID: "gh-1",
      deviceUsername: "gh-1",
      token: null,
      blocked: false,
      commonNames: ["cert"],
      rules,
    });
    const open = await written([of([{ id: 5, topic: "to/%c", access: 0, allow: 1 }])]);
    assert.equal(open.unwritten, { devices: [], policies: [{ id: 5, topic: "to/%c" }] });
    assert.not.ok(mayPublish(open.config, "cert", "x", "devices/gh-1/up/to/x"));
    assert.not.ok(
      mayPublish(open.config, "cert", "x", "devices/gh-1/up/data"),
      "an allow rule leaves nothing else",
    );
    const braces = `to/${braced("{clientid}")}`;
    const shut = await written([of([{ id: 6, topic: braces, access: 0, allow: 0 }])]);
    assert.equal(shut.unwritten.policies, [{ id: 6, topic: braces }]);
    assert.not.ok(mayPublish(shut.config, "cert", "x", `devices/gh-1/up/${braces}`));
    assert.ok(mayPublish(shut.config, "cert", "x", "devices/gh-1/up/data"));
  });

  test("the files of docs/brokers put names in where they are asked about, and in no topic", async () => {
    for (const file of (await readdir(documented)).filter((name) => name.endsWith(".conf"))) {
      const lines = (await readFile(`${documented}${file}`, "utf8"))
        .split("\n")
        .filter((line) => !/^\s*#/.test(line));
      const told = lines.filter((line) => /%[cu]\b|\$\{/.test(line)).map((line) => line.trim());
      const questions = /^(username|password|clientid|peerhost|cert_common_name|action|topic) = "\$\{\w+\}"$/;
      assert.equal(
        told.filter((line) => !questions.test(line)),
        [],
        file,
      );
    }
  });
});

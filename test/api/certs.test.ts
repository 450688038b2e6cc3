import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { certBody, makeCert, makeDevice, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused, type World, worldSuite } from "../world.js";
import { testResource } from "./resource.js";

const listed = ["id", "name", "enable", "createAt"];
const stored = [...listed, "CN", "cert", "key", "root", "updateAt"];
const dayMs = 86_400_000;

worldSuite("certs", (test, world) => {
  // A create answers the detail, an edit the stored form; the suite compares the two.
  const edited: World = Object.create(world, {
    make: {
      value: async (...args: Parameters<World["make"]>) => {
        const { createUser: _, ...record } = await world.make(...args);
        return record;
      },
    },
  });
  testResource(test, edited, {
    path: "/api/v1/certs",
    body: async () => certBody(),
    required: ["name", "enable"],
    optional: {},
    fixed: {},
    name: "name",
    keys: { stored, detail: [...stored, "createUser"], listed },
  });

  test("a certificate is the authority's, for a client, for a year, with its own key", async () => {
    const cert = await makeCert(world, { enable: "1" });
    assert.equal([cert.enable, cert.createUser], [1, "admin"]);
    const me = (await world.call("GET", "/api/v1/me")).record;
    assert.match(String(cert.CN), new RegExp(`^${me.tenantID}:[0-9a-z]{26}$`));
    const made = new X509Certificate(String(cert.cert));
    const root = new X509Certificate(String(cert.root));
    assert.is(made.subject, `CN=${cert.CN}`);
    assert.is(made.issuer, root.subject);
    assert.ok(made.checkIssued(root) && made.verify(root.publicKey));
    assert.ok(root.checkIssued(root) && root.verify(root.publicKey));
    assert.ok(root.ca && !made.ca);
    assert.equal(made.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    assert.ok(made.checkPrivateKey(createPrivateKey(String(cert.key))));
    assert.is(made.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1");
    const lasts = (one: X509Certificate) => Math.round((Date.parse(one.validTo) - Date.now()) / dayMs);
    assert.equal([lasts(made), lasts(root)], [365, 3650]);
    assert.ok(Date.parse(made.validFrom) <= Date.now());
  });

  test("no two have the same name, key or number; all have the same root", async () => {
    const certs = await Promise.all(Array.from({ length: 5 }, () => makeCert(world)));
    const different = (pick: (cert: Rec) => unknown) => new Set(certs.map(pick)).size;
    const numberOf = (cert: Rec) => new X509Certificate(String(cert.cert)).serialNumber;
    assert.equal([different(({ CN }) => CN), different(({ key }) => key), different(numberOf)], [5, 5, 5]);
    assert.is(
      different(({ root }) => root),
      1,
    );
  });

  test("viewers do not see the key, operators do", async () => {
    const { id, key, cert } = await makeCert(world);
    const seen = async (role: "viewer" | "operator") =>
      (await world.call("GET", `/api/v1/certs/${id}`, undefined, { key: await world.keyOf(role) })).record;
    const viewed = await seen("viewer");
    assert.equal([viewed.key, viewed.cert], [null, cert]);
    assert.is((await seen("operator")).key, key);
  });

  test("an edit changes name and enable and nothing else", async () => {
    const cert = await makeCert(world);
    const path = `/api/v1/certs/${cert.id}`;
    const body = { enable: 0, CN: "other", cert: "other", key: "other", root: "other", createUser: "other" };
    assert.is((await world.call("PUT", path, body)).status, 200);
    const after = (await world.call("GET", path)).record;
    assert.equal({ ...after, updateAt: null }, { ...cert, enable: 0 });
    for (const enable of [2, -1, 0.5, "on"]) {
      refused(await world.call("PUT", path, { enable }), "PARAMETER_INVALID", "enable");
    }
  });

  test("lists filter by enable and CN", async () => {
    const off = await makeCert(world, { enable: 0 });
    const ids = async (query: string) =>
      (await world.call("GET", `/api/v1/certs?${query}`)).page.items.map(({ id }) => id);
    const disabled = await ids("enable=0&_limit=1000");
    assert.ok(disabled.includes(off.id));
    assert.ok(!disabled.includes((await makeCert(world)).id));
    assert.equal(await ids(`CN=${off.CN}`), [off.id]);
    assert.equal(await ids(`CN_like=${String(off.CN).slice(5, 30).toUpperCase()}`), [off.id]);
    refused(await world.call("GET", "/api/v1/certs?enable=yes"), "PARAMETER_INVALID", "enable");
  });

  test("one that a device is bound to stays", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const [bound, free] = [await makeCert(world), await makeCert(world)];
    const binding = await world.call("POST", `/api/v1/devices/${device.id}/certs`, { ids: [bound.id] });
    assert.is(binding.status, 201);
    const remove = () => world.call("DELETE", `/api/v1/certs?ids=${free.id},${bound.id}`);
    refused(await remove(), "REFERENCED_ERROR");
    assert.is((await world.call("GET", `/api/v1/certs/${free.id}`)).status, 200);
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${device.id}`)).status, 204);
    assert.is((await remove()).status, 204);
  });

  test("the audit log knows the certificate by its fingerprint, and no key", async () => {
    const { id, cert, name, CN } = await makeCert(world);
    const { text, page } = await world.call("GET", `/api/v1/changes?entity=cert&recordID=${id}`);
    const fingerprint = createHash("sha256")
      .update(new X509Certificate(String(cert)).raw)
      .digest("hex");
    assert.equal(page.items[0]?.detail, { name, enable: 1, CN, fingerprint });
    assert.not.match(text, /PRIVATE KEY/);
  });
});

import { X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openAuthority, trustedRoots } from "../../src/certificates/authority.js";
import {
  certificateHosts,
  createServerCertificate,
  readExpiry,
} from "../../src/certificates/server-certificate.js";
import { ConfigError, readConfig } from "../../src/config/config.js";
import { openDb } from "../../store/metadata/db/db.js";
import { createVault, type Vault } from "../../store/metadata/db/secrets.js";
import {
  makeAuthority,
  makeCertificate,
  run,
  writePair,
} from "../ingest/transports/mqtt/listeners/support.js";
import { testWithOpenssl } from "../programs.js";
import { sealedBefore } from "../store/metadata/db/sealed-before.js";
import { assert, suite, withTempDir } from "../suite.js";

const dayMs = 86_400_000;
const vault = createVault(Buffer.alloc(32, 7));

async function setUp(dir: string, given: { certPath: string; keyPath: string } | null = null) {
  const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
  const store = { db, vault };
  const authority = await openAuthority(store, { authority: given }, Date.now());
  const config = { tls: null, dataDir: dir, host: "127.0.0.1", publicHost: "iot.example.org" };
  const faults: string[] = [];
  const certificate = (over: { vault?: Vault; host?: string; publicHost?: string } = {}) =>
    createServerCertificate({
      config: { ...config, ...over },
      authority,
      vault: over.vault ?? vault,
      onFault: (path, { message }) => faults.push(`${path}: ${message}`),
    });
  return { db, store, authority, certificate, faults };
}

suite("server certificate", (test) => {
  test("is issued by the authority, kept, and renewed before it ends", () =>
    withTempDir(async (dir) => {
      const { db, authority, certificate } = await setUp(dir);
      const now = Date.now();
      const [first] = await certificate().load(now);
      assert.ok(first);
      const parsed = new X509Certificate(first.cert);
      assert.ok(authority.hasSigned(parsed));
      assert.ok(parsed.checkHost("iot.example.org"));
      assert.equal(await certificate().load(now + dayMs), [first]);
      assert.not.ok(certificate().isDue([first], now + 59 * dayMs));
      assert.ok(certificate().isDue([first], now + 61 * dayMs));
      const [second] = await certificate().load(now + 61 * dayMs);
      assert.ok(second);
      assert.ok(readExpiry(second) > readExpiry(first));
      // Another master key, another name, another host: each asks for another certificate.
      for (const over of [
        { vault: createVault(Buffer.alloc(32, 8)) },
        { publicHost: "other.example.org" },
        { host: "10.0.0.1" },
      ]) {
        const [before] = await certificate().load(now);
        const [after] = await certificate(over).load(now);
        assert.is.not(after?.cert, before?.cert);
      }
      await db.close();
    }));

  test("a damaged file is replaced, and that is logged", () =>
    withTempDir(async (dir) => {
      const { db, certificate, faults } = await setUp(dir);
      const path = join(dir, "server-certificate.json");
      const [first] = await certificate().load(Date.now());
      const { key } = JSON.parse(await readFile(path, "utf8")) as { key: string };
      await certificate().load(Date.now());
      assert.equal(faults, [], "one that is missing, or sound, is none");
      const other = await makeCertificate(await makeAuthority(), { purpose: "server", hosts: ["localhost"] });
      const mixed = JSON.stringify({ format: 2, cert: other.cert, key });
      for (const text of ["", "{}", '{"format":1,"cert":"x","key":"eA=="}', '{"format":9}', mixed]) {
        await writeFile(path, text);
        assert.is.not((await certificate().load(Date.now()))[0]?.cert, first?.cert);
        assert.match(faults.pop() ?? "", path);
      }
      await db.close();
    }));

  test("the file of a version before, whose key is sealed for no place, is read and written anew", () =>
    withTempDir(async (dir) => {
      const { db, certificate, faults } = await setUp(dir);
      const path = join(dir, "server-certificate.json");
      const [first] = await certificate().load(Date.now());
      assert.ok(first);
      const key = sealedBefore(Buffer.alloc(32, 7), first.key).toString("base64");
      await writeFile(path, JSON.stringify({ format: 1, cert: first.cert, key }));
      for (let times = 0; times < 2; times++) assert.equal(await certificate().load(Date.now()), [first]);
      assert.is((JSON.parse(await readFile(path, "utf8")) as { format: number }).format, 2);
      assert.equal(faults, []);
      await db.close();
    }));

  testWithOpenssl(test, "openssl takes it for a server's and for these names alone", () =>
    withTempDir(async (dir) => {
      const { db, authority, certificate } = await setUp(dir);
      const [issued] = await certificate().load(Date.now());
      assert.ok(issued);
      const files = [join(dir, "root.pem"), join(dir, "cert.pem")] as const;
      await Promise.all([writeFile(files[0], authority.root), writeFile(files[1], issued.cert)]);
      const verify = (...args: string[]) =>
        run("openssl", ["verify", "-x509_strict", "-CAfile", files[0], ...args, files[1]]);
      for (const host of ["iot.example.org", "localhost"]) {
        assert.is((await verify("-purpose", "sslserver", "-verify_hostname", host)).code, 0, host);
      }
      for (const ip of ["127.0.0.1", "::1"]) assert.is((await verify("-verify_ip", ip)).code, 0, ip);
      assert.is.not((await verify("-verify_hostname", "example.org")).code, 0);
      assert.is.not((await verify("-purpose", "sslclient")).code, 0);
      await db.close();
    }),
  );

  test("names: no address that stands for all, no brackets, each once, in letters of the wire", () => {
    const always = ["localhost", "127.0.0.1", "::1"];
    assert.equal(certificateHosts({ host: "0.0.0.0", publicHost: null }), always);
    assert.equal(certificateHosts({ host: "::", publicHost: "[2001:db8::1]" }), ["2001:db8::1", ...always]);
    assert.equal(certificateHosts({ host: "localhost", publicHost: "bücher.example" }), [
      "xn--bcher-kva.example",
      ...always,
    ]);
  });

  test("every authority that the deployment has had is recognised", () =>
    withTempDir(async (dir) => {
      const { db, store, authority } = await setUp(dir);
      const own = await trustedRoots(store, authority, 1);
      assert.equal(own, [authority.root]);
      const files = writePair(dir, "ca", await makeAuthority());
      const given = await openAuthority(
        store,
        { authority: { certPath: files.cert, keyPath: files.key } },
        Date.now(),
      );
      assert.equal(await trustedRoots(store, given, 2), [authority.root, given.root]);
      assert.equal(await trustedRoots(store, authority, 3), [authority.root, given.root]);
      await db.close();
    }));

  test("TLS_CERT and TLS_KEY: what is wrong with them is said by name", () =>
    withTempDir(async (dir) => {
      const authority = await makeAuthority();
      const good = await makeCertificate(authority, { purpose: "server", hosts: ["localhost"] });
      const other = await makeCertificate(authority, { purpose: "server", hosts: ["localhost"] });
      const { db, certificate: _unused, authority: own } = await setUp(dir);
      const load = async (cert: string, key: string) => {
        const paths = writePair(dir, "given", { cert, key });
        const tls = [{ certPath: paths.cert, keyPath: paths.key }];
        const config = { tls, dataDir: dir, host: "127.0.0.1", publicHost: null };
        return createServerCertificate({ config, authority: own, vault, onFault: assert.unreachable }).load(
          Date.now(),
        );
      };
      const chained = { cert: good.cert + authority.cert, key: good.key };
      assert.equal(await load(chained.cert, chained.key), [chained]);
      const wrong: [string, string, RegExp][] = [
        ["nothing", good.key, /^TLS_CERT: .*does not hold a PEM certificate/],
        [good.cert, "nothing", /^TLS_KEY: .*does not hold a PEM private key/],
        [good.cert, other.key, /^TLS_KEY: .*is not the key of the certificate/],
      ];
      for (const [cert, key, expected] of wrong) {
        const problem = await load(cert, key).catch((error: unknown) => error);
        assert.instance(problem, ConfigError);
        assert.match(String((problem as Error).message), expected);
      }
      await db.close();
    }));

  test("two certificates are of different kinds, and what is wrong names the file", () =>
    withTempDir(async (dir) => {
      const plant = await makeAuthority();
      const { db, authority } = await setUp(dir);
      const make = async (name: string, kind: "ec" | "rsa") => {
        const pair = await makeCertificate(plant, { purpose: "server", hosts: ["localhost"], kind });
        return { pair, paths: writePair(dir, name, pair) };
      };
      const [ec, rsa, other] = [await make("ec", "ec"), await make("rsa", "rsa"), await make("other", "ec")];
      const load = (...all: { cert: string; key: string }[]) => {
        const tls = all.map(({ cert, key }) => ({ certPath: cert, keyPath: key }));
        const config = { tls, dataDir: dir, host: "127.0.0.1", publicHost: null };
        return createServerCertificate({ config, authority, vault, onFault: assert.unreachable })
          .load(Date.now())
          .catch((error: Error) => error.message);
      };
      assert.equal(await load(ec.paths, rsa.paths), [ec.pair, rsa.pair]);
      assert.match(
        String(await load(ec.paths, other.paths)),
        /^TLS_CERT: \S+ec.crt and \S+other.crt both have a key of the kind ec/,
      );
      assert.match(
        String(await load(ec.paths, { cert: rsa.paths.cert, key: other.paths.key })),
        /^TLS_KEY: \S+other.key is not the key of the certificate \S+rsa.crt$/,
      );
      await db.close();
    }));

  test("settings: each port a number or off, certificate and key together", () => {
    const config = readConfig({ MQTTS_PORT: "off", WS_PORT: "0" });
    assert.equal([config.mqttsPort, config.mqttssPort, config.wsPort, config.wssPort], [null, 8884, 0, 8084]);
    for (const name of ["MQTTS_PORT", "MQTTSS_PORT", "WS_PORT", "WSS_PORT"]) {
      for (const text of ["65536", "-1", "on", "1.5"]) {
        assert.throws(() => readConfig({ [name]: text }), new RegExp(`${name}: must be off or`));
      }
    }
    for (const name of ["TLS_CERT", "TLS_KEY"]) {
      assert.throws(() => readConfig({ [name]: "x" }), /TLS_CERT, TLS_KEY: are set together/);
    }
    assert.equal(readConfig({ TLS_CERT: "e.crt, r.crt", TLS_KEY: "e.key,r.key" }).tls, [
      { certPath: "e.crt", keyPath: "e.key" },
      { certPath: "r.crt", keyPath: "r.key" },
    ]);
    for (const [TLS_CERT, TLS_KEY] of [
      ["a,b", "c"],
      ["a", "b,c"],
      ["a,", "b,c"],
      ["a,b,c", "d,e,f"],
    ])
      assert.throws(
        () => readConfig({ TLS_CERT, TLS_KEY }),
        /TLS_CERT, TLS_KEY: must each be one file, or two/,
      );
  });
});

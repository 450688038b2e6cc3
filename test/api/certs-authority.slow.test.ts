import { execFile } from "node:child_process";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { newCommonName, openAuthority } from "../../src/certificates/authority.js";
import { signCertificate } from "../../src/certificates/x509.js";
import { ConfigError } from "../../src/config/config.js";
import { openDb } from "../../store/metadata/db/db.js";
import { createVault } from "../../store/metadata/db/secrets.js";
import { createCert } from "../../store/metadata/policies/certs.js";
import { readAuthority, type SealedStore } from "../../store/metadata/users/authority.js";
import { createTenant } from "../../store/metadata/users/tenants.js";
import { programMissing, testWithOpenssl } from "../programs.js";
import { assert, rejects, suite, withTempDir } from "../suite.js";

const now = Date.UTC(2026, 10, 21, 10);
const dayMs = 86_400_000;
const own = { authority: null };
const run = promisify(execFile);

async function openStore(dir: string, masterKey = Buffer.alloc(32, 7)): Promise<SealedStore> {
  const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: true });
  return { db, vault: createVault(masterKey) };
}

async function withStore(use: (store: SealedStore, dir: string) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const store = await openStore(dir);
    try {
      await use(store, dir);
    } finally {
      await store.db.close();
    }
  });
}

interface Given {
  readonly key: KeyObject;
  readonly cert: string;
}

/** An authority, or a client certificate, that signs itself. */
async function selfSigned(
  pair: { publicKey: KeyObject; privateKey: KeyObject },
  purpose: "authority" | "client" = "authority",
  days = 30,
): Promise<Given> {
  const cert = await signCertificate(
    { name: "Plant CA", publicKey: pair.publicKey, purpose, notBefore: now, notAfter: now + days * dayMs },
    { certificate: null, key: pair.privateKey },
  );
  return { key: pair.privateKey, cert };
}

const ec = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();

async function writeFiles(dir: string, cert: string, key: string) {
  const paths = { certPath: join(dir, "ca.crt"), keyPath: join(dir, "ca.key") };
  await Promise.all([writeFile(paths.certPath, cert), writeFile(paths.keyPath, key)]);
  return { authority: paths };
}

suite("certs: the authority", (test) => {
  test("is made once, kept over starts, and sealed with the master key", () =>
    withStore(async (store, dir) => {
      const first = await openAuthority(store, own, now);
      const again = await openAuthority(store, own, now + dayMs);
      assert.is(again.root, first.root);
      const other = await openStore(dir, Buffer.alloc(32, 8));
      await rejects(() => openAuthority(other, own, now), /MASTER_KEY is not the one/);
      await other.db.close();
    }));

  test("two processes that start at once have the same one", () =>
    withStore(async (store, dir) => {
      const other = await openStore(dir);
      const stores = [store, other, store, other];
      const opened = await Promise.all(stores.map((one) => openAuthority(one, own, now)));
      assert.is(new Set(opened.map(({ root }) => root)).size, 1);
      assert.equal(await store.db.first("select count(*) n from authority"), { n: 1 });
      await other.db.close();
    }));

  test("no private key lies in the files of the store", () =>
    withStore(async (store, dir) => {
      const tenant = await createTenant(store.db, now, "acme");
      const authority = await openAuthority(store, own, now);
      const name = newCommonName(tenant.tenantID);
      const issued = await authority.issue(name, now);
      const actor = { tenant: tenant.id, userIntID: null, username: null };
      await createCert(store, actor, now, { name: "pump", enable: 1, CN: name, ...issued });
      const kept = await readAuthority(store);
      const files = await Promise.all((await readdir(dir)).map((file) => readFile(join(dir, file))));
      const bytes = Buffer.concat(files);
      const line = (text: string) => text.split("\n")[1] ?? "";
      assert.ok(bytes.includes(line(issued.cert)), "what is not secret is found by this search");
      for (const key of [issued.key, kept?.key ?? ""]) {
        assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
        assert.not.ok(bytes.includes(line(key)));
        const { d = "" } = createPrivateKey(key).export({ format: "jwk" });
        assert.not.ok(bytes.includes(Buffer.from(d, "base64url")));
      }
      assert.not.ok(bytes.includes("PRIVATE KEY"));
    }));

  testWithOpenssl(test, "openssl accepts what it signs, for clients alone", () =>
    withStore(async (store, dir) => {
      const { root, issue } = await openAuthority(store, own, Date.now());
      const { cert } = await issue("C12345678:a", Date.now());
      const [rootPath, certPath] = [join(dir, "root.pem"), join(dir, "cert.pem")];
      await Promise.all([writeFile(rootPath, root), writeFile(certPath, cert)]);
      const verify = (purpose: string) =>
        run("openssl", ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", rootPath, certPath]);
      assert.match((await verify("sslclient")).stdout, /: OK/);
      await rejects(() => verify("sslserver"));
      const shown = await run("openssl", ["x509", "-in", certPath, "-noout", "-text"]);
      for (const part of [/Version: 3/, /ecdsa-with-SHA256/, /TLS Web Client Authentication/, /CA:FALSE/]) {
        assert.match(shown.stdout, part);
      }
    }),
  );

  for (const [kind, pair] of [
    ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["P-256", () => ec("prime256v1")],
    ["P-384", () => ec("secp384r1")],
    ["P-521", () => ec("secp521r1")],
  ] as const) {
    test(`may be given, with a key of kind ${kind}`, () =>
      withStore(async (store, dir) => {
        const given = await selfSigned(pair());
        const config = await writeFiles(dir, given.cert, pem(given.key));
        const { root, issue } = await openAuthority(store, config, now);
        assert.is(root.trim(), given.cert.trim());
        const { cert, key, expiresAt } = await issue("C1:x", now);
        const [made, above] = [new X509Certificate(cert), new X509Certificate(given.cert)];
        assert.ok(made.checkIssued(above) && made.verify(above.publicKey));
        assert.ok(made.checkPrivateKey(createPrivateKey(key)));
        assert.is(made.issuer, "CN=Plant CA");
        assert.is(Date.parse(made.validTo), expiresAt);
        assert.is(expiresAt, now + 30 * dayMs, "none outlives its authority");
        assert.equal(await store.db.all("select id from authority"), []);
        await rejects(() => issue("C1:x", now + 31 * dayMs), /has expired/);
      }));
  }

  test("given with a chain, devices get the certificates of the file and nothing else", () =>
    withStore(async (store, dir) => {
      const [given, above] = [await selfSigned(ec("prime256v1")), await selfSigned(ec("prime256v1"))];
      const text = `${pem(given.key)}\nsubject=Plant\n${given.cert}${above.cert}`;
      const { root } = await openAuthority(store, await writeFiles(dir, text, pem(given.key)), now);
      assert.not.match(root, /PRIVATE|subject/);
      assert.is(root.match(/BEGIN CERTIFICATE/g)?.length, 2);
      assert.is(new X509Certificate(root).raw.compare(new X509Certificate(given.cert).raw), 0);
    }));

  testWithOpenssl(test, "an authority's own key identifier and name are carried over as they are", () =>
    withStore(async (store, dir) => {
      const [keyPath, certPath] = [join(dir, "ca.key"), join(dir, "ca.crt")];
      await run("openssl", ["genpkey", "-algorithm", "RSA", "-out", keyPath]);
      const extensions = ["basicConstraints=critical,CA:TRUE", "subjectKeyIdentifier=01020304"];
      await run("openssl", [
        ...["req", "-x509", "-new", "-utf8", "-key", keyPath, "-days", "3", "-out", certPath],
        ...["-subj", '/C=CN/O=工厂, Ltd./CN=Plant "1"'],
        ...extensions.flatMap((one) => ["-addext", one]),
      ]);
      const { root, issue } = await openAuthority(store, { authority: { certPath, keyPath } }, Date.now());
      const { cert } = await issue("C1:x", Date.now());
      const leaf = join(dir, "leaf.crt");
      await writeFile(leaf, cert);
      assert.ok(new X509Certificate(cert).checkIssued(new X509Certificate(root)));
      const verified = await run("openssl", ["verify", "-partial_chain", "-CAfile", certPath, leaf]);
      assert.match(verified.stdout, /: OK/);
    }),
  );

  test("files that are no authority end the start with one sentence that names the setting", () =>
    withStore(async (store, dir) => {
      const good = await selfSigned(ec("prime256v1"));
      const koblitz = ec("secp256k1");
      const encrypted = good.key.export({
        type: "pkcs8",
        format: "pem",
        cipher: "aes-256-cbc",
        passphrase: "x",
      });
      const wrong: readonly (readonly [string, string, string, RegExp])[] = [
        ["no certificate", "nothing", pem(good.key), /^CA_CERT: .*ca\.crt does not hold a PEM certificate$/],
        ["a torn one", good.cert.slice(40), pem(good.key), /^CA_CERT: .* does not hold a PEM certificate$/],
        ["no key", good.cert, "nothing", /^CA_KEY: .*ca\.key does not hold a PEM private key/],
        ["a locked key", good.cert, String(encrypted), /^CA_KEY: .* without a password$/],
        ["a public key", good.cert, publicPem(good.key), /^CA_KEY: .* does not hold a PEM private key/],
        [
          "another key",
          good.cert,
          pem(ec("prime256v1").privateKey),
          /^CA_KEY: .* is not the key of the cert/,
        ],
        [
          "a key of no use",
          await koblitzCert(dir, koblitz.privateKey),
          pem(koblitz.privateKey),
          /^CA_KEY: .* must be/,
        ],
        [
          "a client's certificate",
          (await selfSigned(ec("prime256v1"), "client")).cert,
          pem(good.key),
          /^CA_CERT: .* is not the certificate of an authority$/,
        ],
      ];
      for (const [what, cert, key, message] of wrong) {
        if (cert === "") continue;
        const config = await writeFiles(dir, cert, key);
        const error = await rejects(() => openAuthority(store, config, now), message);
        assert.instance(error, ConfigError, what);
      }
      const absent = { certPath: join(dir, "no.crt"), keyPath: join(dir, "no.key") };
      await rejects(
        () => openAuthority(store, { authority: absent }, now),
        /^CA_CERT: cannot read .*no\.crt: ENOENT$/,
      );
    }));
});

function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}

/** Empty without openssl. */
async function koblitzCert(dir: string, key: KeyObject): Promise<string> {
  if (programMissing("openssl") !== null) return "";
  const path = join(dir, "koblitz.key");
  await writeFile(path, pem(key));
  const { stdout } = await run("openssl", ["req", "-x509", "-new", "-key", path, "-subj", "/CN=Koblitz"]);
  return stdout;
}

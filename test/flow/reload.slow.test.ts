/** SIGHUP on the real process: another certificate without a connection lost. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import {
  connectTo,
  makeAuthority,
  makeCertificate,
  run,
  thrownOut,
  writePair,
} from "../ingest/transports/mqtt/listeners/support.js";
import { testWithOpenssl } from "../programs.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import { provision, type RunningService, startService } from "./support.js";

/** Reads the serial number of the listener's certificate. */
async function serialOf(address: string | null | undefined): Promise<string> {
  const socket = connect({
    host: "127.0.0.1",
    port: Number(new URL(address ?? "").port),
    rejectUnauthorized: false,
  });
  await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  const serial = socket.getPeerX509Certificate()?.serialNumber ?? "";
  socket.destroy();
  return serial;
}

const serial = (cert: string) => new X509Certificate(cert).serialNumber;

async function logs(service: RunningService, pattern: RegExp, times = 1): Promise<void> {
  const matches = () => service.logged.filter(({ msg }) => pattern.test(String(msg)));
  await until(() => matches().length >= times, { what: `${times} × ${pattern}` });
}

suite("reload", (test) => {
  test("SIGHUP brings the new certificate; what is connected stays; a bad file changes nothing", () =>
    withTempDir(async (dir) => {
      const authority = await makeAuthority();
      const hosts = ["127.0.0.1"];
      const first = await makeCertificate(authority, { purpose: "server", hosts });
      const second = await makeCertificate(authority, { purpose: "server", hosts });
      const expired = await makeCertificate(authority, { purpose: "server", hosts, to: -1000 });
      const files = writePair(dir, "server", first);
      const service = await startService(join(dir, "data"), {
        MQTTS_PORT: "0",
        MQTTSS_PORT: "0",
        WSS_PORT: "0",
        TLS_CERT: files.cert,
        TLS_KEY: files.key,
      });
      const secure = ["mqtts", "mqttss", "wss"].map((name) => service.addresses[name]);
      const expectSerial = async (cert: string) => {
        for (const address of secure) assert.is(await serialOf(address), serial(cert), String(address));
      };
      await expectSerial(first.cert);

      const [device] = await provision(service, 1);
      assert.ok(device);
      if (device === undefined) return;
      const ca = authority.cert;
      const clients = [];
      for (const name of ["mqtts", "wss"]) {
        clients.push(await connectTo(service.addresses[name] ?? "", device, { ca, clientId: name }));
      }
      const lost: string[] = [];
      for (const client of clients) client.on("close", () => lost.push(String(client.options.clientId)));

      writePair(dir, "server", second);
      service.signal("SIGHUP");
      await logs(service, /certificate loaded/);
      await expectSerial(second.cert);

      const bad: [string, () => void][] = [
        ["no certificate", () => writeFileSync(files.cert, "-----BEGIN CERTIFICATE-----\nx")],
        ["another's key", () => writePair(dir, "server", { ...first, key: second.key })],
        ["expired", () => writePair(dir, "server", expired)],
        ["a key with a password", () => writeFileSync(files.key, "-----BEGIN ENCRYPTED PRIVATE KEY-----")],
      ];
      for (const [i, [what, spoil]] of bad.entries()) {
        spoil();
        service.signal("SIGHUP");
        await logs(service, /the certificate in use stays/, i + 1);
        await expectSerial(second.cert);
        const ready = await service.call("GET", "/readyz");
        assert.is(ready.status, 200, what);
        assert.match(ready.text, /"certificate":/, what);
      }
      writePair(dir, "server", first);
      service.signal("SIGHUP");
      await logs(service, /certificate loaded/, 2);
      await expectSerial(first.cert);
      assert.not.match((await service.call("GET", "/readyz")).text, /"certificate":/);

      for (const client of clients) await client.publishAsync("data", "{}", { qos: 1 });
      assert.equal(lost, []);
      for (const client of clients) await client.endAsync();
      await service.stop();
    }));

  testWithOpenssl(
    test,
    "two certificates: each client gets the one that it can check, also after SIGHUP",
    () =>
      withTempDir(async (dir) => {
        const authority = await makeAuthority();
        const make = async (kind: "ec" | "rsa") => {
          const pair = await makeCertificate(authority, { purpose: "server", hosts: ["127.0.0.1"], kind });
          return { pair, files: writePair(dir, kind, pair) };
        };
        let [ec, rsa] = [await make("ec"), await make("rsa")];
        const service = await startService(join(dir, "data"), {
          HTTPS_PORT: "0",
          MQTTS_PORT: "0",
          MQTTSS_PORT: "0",
          WSS_PORT: "0",
          TLS_CERT: `${ec.files.cert},${rsa.files.cert}`,
          TLS_KEY: `${ec.files.key},${rsa.files.key}`,
        });
        /** What a client of OpenSSL with these means is shown. */
        const shownTo = async (address: string, ...means: string[]) => {
          const { port } = new URL(address);
          const { output } = await run("openssl", ["s_client", "-connect", `127.0.0.1:${port}`, ...means]);
          const [pem] = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/.exec(output) ?? [];
          return pem === undefined ? output : serial(pem);
        };
        const expectBoth = async () => {
          for (const name of ["https", "mqtts", "mqttss", "wss"]) {
            const address = service.addresses[name] ?? "";
            const suite = (by: string) => ["-tls1_2", "-cipher", `ECDHE-${by}-AES128-GCM-SHA256`];
            assert.is(await shownTo(address, ...suite("RSA")), serial(rsa.pair.cert), name);
            assert.is(await shownTo(address, ...suite("ECDSA")), serial(ec.pair.cert), name);
            const signs = (by: string) => ["-tls1_3", "-sigalgs", by];
            assert.is(await shownTo(address, ...signs("rsa_pss_rsae_sha256")), serial(rsa.pair.cert), name);
            assert.is(await shownTo(address, ...signs("ecdsa_secp256r1_sha256")), serial(ec.pair.cert), name);
            assert.is(await shownTo(address), serial(ec.pair.cert), `${name}, for who can check both`);
          }
        };
        await expectBoth();
        const { text } = await service.call("GET", "/metrics");
        for (const [name, { pair }] of Object.entries({ ec, rsa })) {
          const end = Date.parse(new X509Certificate(pair.cert).validTo) / 1000;
          assert.match(text, `tidemark_certificate_end_seconds{certificate="server_${name}"} ${end}\n`);
        }
        assert.not.match(text, 'certificate="server"');

        [ec, rsa] = [await make("ec"), await make("rsa")];
        service.signal("SIGHUP");
        await logs(service, /certificate loaded/, 2);
        await expectBoth();
        writePair(dir, "rsa", ec.pair);
        service.signal("SIGHUP");
        await logs(service, /rsa.crt both have a key of the kind ec/);
        await expectBoth();
        await service.stop();
      }),
  );

  test("the deployment's own certificate is kept over starts, and renewed for another name", () =>
    withTempDir(async (dir) => {
      const port = { MQTTS_PORT: "0" };
      const serials: string[] = [];
      for (const settings of [{}, {}, { PUBLIC_HOST: "iot.example.org" }]) {
        const service = await startService(dir, { ...port, ...settings });
        serials.push(await serialOf(service.addresses.mqtts));
        service.signal("SIGHUP");
        await logs(service, /certificate loaded/);
        assert.is(await serialOf(service.addresses.mqtts), serials.at(-1));
        await service.stop();
      }
      assert.is(serials[0], serials[1]);
      assert.is.not(serials[1], serials[2]);
    }));

  test("an authority that has expired closes the TLS listeners, and nothing else", () =>
    withTempDir(async (dir) => {
      const files = writePair(dir, "ca", await makeAuthority("Old CA", -1000));
      const service = await startService(join(dir, "data"), {
        CA_CERT: files.cert,
        CA_KEY: files.key,
        MQTTS_PORT: "0",
        WS_PORT: "0",
      });
      const { mqtt, mqtts, ws } = service.addresses;
      assert.ok(mqtt && ws);
      assert.is(mqtts, null);
      assert.match((await service.call("GET", "/readyz")).text, /"certificate":".*has expired/);
      await service.stop();
    }));

  test("a stop does not wait for clients, whatever they came by", () =>
    withTempDir(async (dir) => {
      const service = await startService(dir, { MQTTS_PORT: "0", WS_PORT: "0", WSS_PORT: "0" });
      const [device] = await provision(service, 1);
      assert.ok(device);
      if (device === undefined) return;
      const clients = [];
      for (const name of ["mqtt", "mqtts", "ws", "wss"]) {
        const options = { clientId: name, rejectUnauthorized: false };
        clients.push(await connectTo(service.addresses[name] ?? "", device, options));
      }
      const silent = ["mqtts", "wss"].map((name) =>
        connectTcp(Number(new URL(service.addresses[name] ?? "").port), "127.0.0.1"),
      );
      await Promise.all(silent.map((socket) => once(socket, "connect")));
      const begun = performance.now();
      const out = clients.map(thrownOut);
      await service.stop();
      await Promise.all(out);
      assert.ok(performance.now() - begun < 8000);
    }));

  test("SIGHUP without a TLS listener ends nothing", () =>
    withTempDir(async (dir) => {
      const service = await startService(dir);
      service.signal("SIGHUP");
      const ready = await service.call("GET", "/readyz");
      assert.is(ready.status, 200);
      await service.stop();
    }));
});

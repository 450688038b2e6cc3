/** Names of other sides: who is asked, what may be answered, and what a silent server holds up. */
import { createSocket } from "node:dgram";
import { readFile, utimes, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createAddressGuard } from "../../src/contact-points/addresses.js";
import { parseHosts } from "../../src/contact-points/hosts-file.js";
import { createLookUpName } from "../../src/contact-points/names.js";
import { assert, rejects, suite, until, withTempDir } from "../suite.js";

/** Bytes of addresses by name and type of record: 1 is A, 28 AAAA (RFC 1035, 3.2.2; RFC 3596). */
type Zone = Readonly<Record<string, Readonly<Record<number, readonly number[]>>>>;

/** A server of names that answers what a zone says, and nothing (NODATA) for the rest; null: it keeps silent. */
async function openNameServer(zone: Zone | null) {
  const server = createSocket("udp4");
  const asked: string[] = [];
  server.on("message", (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    const labels: string[] = [];
    for (let at = 12; at < end; at += (query[at] ?? 0) + 1) {
      labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)));
    }
    const [name, type] = [labels.join("."), query.readUInt16BE(end + 1)];
    asked.push(name);
    if (zone === null) return;
    const data = zone[name]?.[type];
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(data === undefined ? 0 : 1, 6);
    head.writeUInt32BE(0, 8);
    const answer =
      data === undefined ? [] : [0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data];
    server.send(Buffer.concat([head, query.subarray(12, end + 5), Buffer.from(answer)]), port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
  return {
    servers: [`127.0.0.1:${(server.address() as AddressInfo).port}`],
    asked,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

const loopback6 = [...Array(15).fill(0), 1] as readonly number[];
const noAbort = new AbortController().signal;

suite("names of contact points", (test) => {
  test("names that nobody answers hold up no file, and end with their attempt", async () => {
    const { servers, asked, close } = await openNameServer(null);
    const guard = createAddressGuard([], createLookUpName({ servers }));
    const attempt = new AbortController();
    // Four times the threads of the pool that dns.lookup would take.
    const names = Array.from({ length: 16 }, (_, i) => `h${i}.example`);
    const ends = Promise.all(names.map((name) => rejects(() => guard.resolve(name, attempt.signal))));
    let haveEnded = false;
    void ends.then(() => {
      haveEnded = true;
    });
    await until(() => new Set(asked).size === names.length, { what: "all names to be asked for" });
    await readFile(new URL(import.meta.url));
    assert.is(haveEnded, false);
    attempt.abort();
    for (const { message } of await ends) assert.match(message, "ECANCELLED");
    await close();
  });

  test("addresses of both families are checked, and one bad one spoils the name", async () => {
    const { servers, close } = await openNameServer({
      "good.example": { 1: [93, 184, 215, 14] },
      "six.example": { 28: [0x20, 0x01, 0x48, 0x60, ...Array(11).fill(0), 0x88] },
      "bad.example": { 1: [10, 0, 0, 1] },
      "mixed.example": { 1: [93, 184, 215, 14], 28: loopback6 },
    });
    const guard = createAddressGuard([], createLookUpName({ servers }));
    assert.is(await guard.resolve("good.example", noAbort), "93.184.215.14");
    assert.is(await guard.resolve("six.example", noAbort), "2001:4860::88");
    // A tenant must not learn which names of this network there are.
    for (const name of ["bad.example", "mixed.example", "none.example"]) {
      const { message } = await rejects(() => guard.resolve(name, noAbort));
      assert.is(
        message,
        `${name} has no public address; the setting NOTIFY_PRIVATE_ADDRESSES names others that are allowed`,
      );
    }
    const all = await new Promise((resolve) =>
      guard.lookup(noAbort)("good.example", { all: true }, (_error, found) => resolve(found)),
    );
    assert.equal(all, [{ address: "93.184.215.14", family: 4 }]);
    const error = await new Promise((resolve) =>
      guard.lookup(noAbort)("mixed.example", { all: true }, resolve),
    );
    assert.match(String(error), "mixed.example has no public address");
    await close();
  });

  test("the machine's own file comes first, and is read again when it changes", () =>
    withTempDir(async (dir) => {
      const { servers, asked, close } = await openNameServer({});
      const hostsPath = join(dir, "hosts");
      const lookUp = createLookUpName({ servers, hostsPath });
      const addresses = async (name: string) =>
        (await lookUp(name, noAbort)).map(({ address, family }) => `${address} ${family}`);
      await rejects(() => addresses("mail.lan"), /ENODATA/);
      await writeFile(hostsPath, "10.0.0.7 mail.lan mail # ours\n");
      await utimes(hostsPath, 1, 1);
      const before = asked.length;
      assert.equal(await addresses("Mail.LAN"), ["10.0.0.7 4"]);
      await writeFile(hostsPath, "10.0.0.8\tmail.lan\nfd00::8 mail.lan\n");
      await utimes(hostsPath, 2, 2);
      assert.equal(await addresses("mail.lan."), ["10.0.0.8 4", "fd00::8 6"]);
      assert.is(asked.length, before);
      assert.equal(await addresses("192.0.2.1"), ["192.0.2.1 4"]);
      await close();
    }));

  test("a file of hosts may hold comments, blank lines and what is no address", async () => {
    const text = "# 1.1.1.1 a\n\n  2.2.2.2   b\tB.c#d\nnonsense e\n3.3.3.3\n4.4.4.4 b\r\n";
    assert.equal(
      [...(await parseHosts(text))],
      [
        ["b", ["2.2.2.2", "4.4.4.4"]],
        ["b.c", ["2.2.2.2"]],
      ],
    );
  });
});

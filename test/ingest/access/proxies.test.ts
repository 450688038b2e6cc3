import fc from "fast-check";
import { forwardedFor, nodeAddress } from "../../../ingest/access/forwarded.js";
import { isNetwork } from "../../../ingest/access/networks.js";
import { createProxies } from "../../../ingest/access/proxies.js";
import { readProxyHeader } from "../../../ingest/transports/sockets/proxy-header.js";
import { readConfig } from "../../../src/config/config.js";
import { clientAddress } from "../../../src/http/client-address.js";
import { assert, cpuTime, suite } from "../../suite.js";

suite("trusted proxies", (test) => {
  const proxies = createProxies(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32"]);
  const list = (text: string, peer = "10.0.0.1") => proxies.clientOf(peer, { "x-forwarded-for": text });
  const header = (text: string, peer = "10.0.0.1") => proxies.clientOf(peer, { forwarded: text });

  test("networks and addresses are taken, nothing else", () => {
    for (const text of [
      "10.0.0.0/8",
      "192.0.2.1",
      "::1",
      "2001:db8::/32",
      "0.0.0.0/0",
      "::/0",
      "::ffff:10.0.0.0/104",
    ]) {
      assert.ok(isNetwork(text), text);
    }
    for (const text of [
      "",
      "10.0.0.0/33",
      "::/129",
      "10.0.0.0/",
      "10/8",
      "localhost",
      "10.0.0.1/8/8",
      "fe80::1%a",
      "1.2.3.4/-1",
      "::ffff:10.0.0.0/95",
    ]) {
      assert.not(isNetwork(text), text);
    }
    assert.equal(
      ["10.255.0.1", "11.0.0.1", "192.0.2.1", "2001:db8:1::1", "2001:db9::1", ""].map(proxies.trusts),
      [true, false, true, true, false, false],
    );
    assert.not(createProxies([]).trusts("127.0.0.1"));
    assert.throws(() => createProxies(["localhost"]), /"localhost" is no network/);
  });

  test("an IPv4 address written as IPv6 is itself, as a peer and in the setting", () => {
    const mapped = createProxies(["::ffff:10.0.0.0/104", "::FFFF:192.0.2.1", "2001:DB8:0::/32"]);
    for (const [peer, trusted] of [
      ["10.255.0.1", true],
      ["::ffff:10.255.0.1", true],
      ["::ffff:a00:1", true],
      ["11.0.0.1", false],
      ["192.0.2.1", true],
      ["::ffff:192.0.2.2", false],
      ["2001:db8:1::1", true],
      ["fe80::1%eth0", false],
    ] as const) {
      const seen = clientAddress(peer, { "x-forwarded-for": "198.51.100.7" }, mapped);
      assert.is(seen === "198.51.100.7", trusted, peer);
    }
    const headers = { "x-forwarded-for": "198.51.100.7, ::ffff:10.0.0.9" };
    assert.is(
      clientAddress("::ffff:192.0.2.1", headers, mapped),
      "198.51.100.7",
      "a proxy within the chain too",
    );
  });

  test("a wrong setting is named at the start", () => {
    assert.equal(readConfig({}).trustedProxies, []);
    assert.equal(readConfig({ TRUSTED_PROXIES: " 10.0.0.0/8 ,::1" }).trustedProxies, ["10.0.0.0/8", "::1"]);
    for (const TRUSTED_PROXIES of ["localhost", "10.0.0.0/8,", "10.0.0.0/99"]) {
      assert.throws(() => readConfig({ TRUSTED_PROXIES }), /TRUSTED_PROXIES: must be addresses/);
    }
    assert.throws(() => readConfig({ PROXY_PROTOCOL: "on" }), /PROXY_PROTOCOL/);
  });

  test("from the right, the first address that is no trusted proxy's", () => {
    assert.is(list("198.51.100.7"), "198.51.100.7");
    assert.is(list("1.1.1.1, 198.51.100.7"), "198.51.100.7", "what the client wrote itself is not believed");
    assert.is(list("1.1.1.1,198.51.100.7 ,\t10.9.9.9, 192.0.2.1"), "198.51.100.7");
    assert.is(list("10.0.0.2, 10.0.0.3"), "10.0.0.2", "all the way through proxies");
    assert.is(list("198.51.100.7:4711"), "198.51.100.7");
    assert.is(list("[2001:DB9::7]:4711"), "2001:db9::7");
    assert.is(list("::ffff:198.51.100.7"), "198.51.100.7");
    assert.is(
      header('for=1.1.1.1, For="[2001:db9:cafe::17]:4711";proto=http;by=10.0.0.1'),
      "2001:db9:cafe::17",
    );
    assert.is(header("for=198.51.100.7;host=a"), "198.51.100.7");
    assert.is(header('host="a;b,c\\"d";for="198.51.100.7"'), "198.51.100.7");
  });

  test("nobody else is believed, and what cannot be read is the proxy's own", () => {
    assert.is(list("198.51.100.7", "203.0.113.9"), "203.0.113.9");
    assert.is(header("for=198.51.100.7", "203.0.113.9"), "203.0.113.9");
    for (const text of ["", "unknown", "_hidden", "a,b", "198.51.100.7, unknown", "1.2.3", "198.51.100.7,"]) {
      assert.is(list(text), "10.0.0.1", text);
    }
    for (const text of [
      "",
      "for",
      "for=",
      "for=unknown",
      "by=1.1.1.1",
      "for=_a;for",
      'for="1.1.1.1',
      "for=1.1.1.1 x",
    ]) {
      assert.is(header(text), "10.0.0.1", text);
    }
    assert.is(list("198.51.100.7, _hidden, 10.0.0.2"), "10.0.0.2", "the nearest that is known");
    assert.is(proxies.clientOf("10.0.0.1", {}), "10.0.0.1");
  });

  test("a client cannot swallow what a proxy appends", () => {
    const starts = [
      'for="',
      'for="1.1.1.1',
      'x="\\',
      "for=1.1.1.1;",
      'a="b";c="',
      '"',
      "for=1.1.1.1,",
      '\\"',
      "for=(",
    ];
    const texts = fc.oneof(
      fc.constantFrom(...starts),
      fc.string(),
      fc.array(fc.constantFrom(...'for=",;\\ 1.x')).map((all) => all.join("")),
    );
    const appended = fc.constantFrom(
      "for=198.51.100.7",
      'for="198.51.100.7:80"',
      'for=198.51.100.7;host="h";by="[::1]"',
    );
    fc.assert(
      fc.property(texts, appended, (own, proxys) => {
        const client = header(`${own}, ${proxys}`);
        assert.ok(["198.51.100.7", "10.0.0.1"].includes(client), client);
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.string(), (own) => {
        assert.is(list(`${own}, 198.51.100.7`), "198.51.100.7");
      }),
    );
  });

  test("two headers that do not say the same say nothing", () => {
    const both = (forwarded: string, other: string) =>
      proxies.clientOf("10.0.0.1", { forwarded, "x-forwarded-for": other });
    assert.is(both("for=198.51.100.7", "198.51.100.7"), "198.51.100.7");
    assert.is(both("for=1.1.1.1", "198.51.100.7"), "10.0.0.1");
    assert.is(both("nonsense", "198.51.100.7"), "10.0.0.1");
  });

  test("the address of a request is its peer's in its one spelling", () => {
    const none = createProxies([]);
    const told = { "x-forwarded-for": "198.51.100.7" };
    assert.is(clientAddress("::ffff:192.0.2.9", told, none), "192.0.2.9");
    assert.is(clientAddress(undefined, told, none), "");
    assert.is(clientAddress("::ffff:10.0.0.1", told, proxies), "198.51.100.7");
    assert.is(nodeAddress("[::1"), null);
    assert.equal(forwardedFor("for=a;by=b, by=c"), ["a", null]);
  });

  test("a header of 64 KiB is read in one go", () => {
    const spent = cpuTime();
    for (const text of [
      "for=1.1.1.1,".repeat(5400),
      `for="${"\\a".repeat(32_000)}`,
      ",".repeat(65_000),
      '"'.repeat(65_000),
    ]) {
      header(text);
      list(text);
    }
    assert.ok(spent() < 1000);
  });
});

suite("PROXY protocol", (test) => {
  const line = (text: string) => readProxyHeader(Buffer.from(text, "latin1"));
  const signature = "0d0a0d0a000d0a515549540a";
  const binary = (hex: string) => readProxyHeader(Buffer.from(signature + hex.replaceAll(" ", ""), "hex"));
  const four = "0102 0304 0506 0708 1f90 075b";
  const six = "20010db8000000000000000000000001 20010db8000000000000000000000002 1f90 075b";

  test("version 1, as the protocol's text has it", () => {
    assert.equal(line("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\nGET /"), {
      length: 47,
      client: "192.168.0.1",
    });
    const wide = Array(8).fill("ffff").join(":");
    assert.equal(line("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"), {
      length: 56,
      client: "255.255.255.255",
    });
    assert.equal(line(`PROXY TCP6 ${wide} ${wide} 65535 65535\r\n`), { length: 104, client: wide });
    assert.equal(line("PROXY UNKNOWN\r\n"), { length: 15, client: null });
    assert.equal(line(`PROXY UNKNOWN ${wide} ${wide} 65535 65535\r\n`), { length: 107, client: null });
    assert.equal(line("PROXY TCP6 ::ffff:1.2.3.4 ::1 1 0\r\n"), { length: 35, client: "1.2.3.4" });
  });

  test("version 1 that is not of the form is refused", () => {
    const wrong = [
      ...[
        "TCP4 1.2.3.4 1.2.3.4 1\r\n",
        "TCP4 1.2.3.4 1.2.3.4 1 1 1\r\n",
        "TCP4 ::1 ::1 1 1\r\n",
        "TCP6 1.2.3.4 1.2.3.4 1 1\r\n",
      ],
      ...[
        "TCP4 1.2.3.4 1.2.3.4 65536 1\r\n",
        "TCP4 1.2.3.4 1.2.3.4 01 1\r\n",
        "TCP4  1.2.3.4 1.2.3.4 1 1\r\n",
        "UDP4 1.2.3.4 1.2.3.4 1 1\r\n",
      ],
      ...["tcp4 1.2.3.4 1.2.3.4 1 1\r\n", "\r\n", `UNKNOWN ${"x".repeat(200)}\r\n`, "x".repeat(110)],
    ];
    for (const rest of wrong) assert.is(line(`PROXY ${rest}`), "bad", rest);
  });

  test("version 2: TCP over IPv4 and IPv6, what it adds of itself, and who speaks for itself", () => {
    assert.equal(binary(`21 11 000c ${four}`), { length: 28, client: "1.2.3.4" });
    assert.equal(binary(`21 21 0024 ${six}`), { length: 52, client: "2001:db8::1" });
    assert.equal(binary(`21 11 0010 ${four} 0400 0100 ffff`), { length: 32, client: "1.2.3.4" });
    assert.equal(binary(`21 21 0024 ${"00".repeat(10)}ffff01020304 ${"00".repeat(16)} 0001 0002`), {
      length: 52,
      client: "1.2.3.4",
    });
    for (const alone of [
      "20 00 0000",
      "20 11 0000",
      "21 00 0000",
      `20 11 000c ${four}`,
      `21 12 000c ${four}`,
      `21 31 00d8 ${"00".repeat(216)}`,
    ]) {
      const header = binary(alone);
      assert.is(typeof header === "object" && header.client, null, alone);
    }
  });

  test("version 2 that is not of the form is refused", () => {
    for (const wrong of [
      `11 11 000c ${four}`,
      `22 11 000c ${four}`,
      `21 13 000c ${four}`,
      `21 41 000c ${four}`,
      `21 11 000b ${four}`,
      "21 11 ffff",
      "21 21 000c",
    ]) {
      assert.is(binary(wrong), "bad", wrong);
    }
  });

  test("what comes in pieces is waited for, and nothing else is taken for a header", () => {
    const whole = [
      Buffer.from("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n"),
      Buffer.from(`${signature}211100100102030405060708 1f90075b04000100`.replaceAll(" ", ""), "hex"),
    ];
    for (const bytes of whole) {
      for (let end = 1; end < bytes.length; end++) {
        assert.is(readProxyHeader(bytes.subarray(0, end)), "more", `${end}`);
      }
      assert.type(readProxyHeader(bytes), "object");
    }
    for (const other of [
      "\x10\x0c\0\x04MQTT",
      "\x16\x03\x01",
      "GET / HTTP/1.1",
      "PRIX",
      "\r\n\r\nX",
      "PROXYX",
    ]) {
      assert.is(line(other), "none", other);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        readProxyHeader(Buffer.concat([Buffer.from(signature, "hex"), bytes]));
        readProxyHeader(Buffer.concat([Buffer.from("PROXY "), bytes]));
      }),
    );
  });
});

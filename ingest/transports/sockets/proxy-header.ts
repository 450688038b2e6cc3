import { isIPv4, isIPv6 } from "node:net";
import { canonicalAddress } from "../../access/address-block.js";

/**
 * What a connection begins with: "none" is no header, "more" the beginning of one, "bad" a malformed one.
 * `client` is null if the proxy speaks for itself, or cannot say for whom.
 */
type ProxyHeader = "none" | "more" | "bad" | { readonly length: number; readonly client: string | null };

const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const word = Buffer.from("PROXY ", "latin1");
/** Longest header of version 1, with its CR and LF. */
const lineBytesMax = 107;
/** Most bytes of a header of version 2 after its fixed part: addresses, and what the proxy adds. */
const tailBytesMax = 4096;
const fixedBytes = 16;

/** The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt §2). */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsLike(bytes, signature)) return bytes.length < fixedBytes ? "more" : readBinary(bytes);
  if (beginsLike(bytes, word)) return bytes.length < word.length ? "more" : readLine(bytes);
  return "none";
}

/** Compares as many bytes as there are. */
function beginsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, lineBytesMax).indexOf("\r\n");
  if (end < 0) return bytes.length < lineBytesMax ? "more" : "bad";
  const length = end + 2;
  const [, protocol, source = "", target = "", ...ports] = bytes.toString("latin1", 0, end).split(" ");
  if (protocol === "UNKNOWN") return { length, client: null };
  const isAddress = protocol === "TCP4" ? isIPv4 : protocol === "TCP6" ? isIPv6 : null;
  if (isAddress === null || !isAddress(source) || !isAddress(target)) return "bad";
  if (ports.length !== 2 || !ports.every(isPort)) return "bad";
  return { length, client: canonicalAddress(source) };
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

const command = { local: 0x20, proxy: 0x21 } as const;
/**
 * Family and transport → bytes of its addresses and ports, and how its source is written; null: it holds no address.
 */
const families: Readonly<
  Record<number, { readonly bytes: number; readonly source: ((bytes: Buffer) => string) | null }>
> = {
  0: { bytes: 0, source: null },
  17: { bytes: 12, source: (bytes) => bytes.subarray(0, 4).join(".") },
  18: { bytes: 12, source: null },
  33: {
    bytes: 36,
    source: (bytes) =>
      bytes
        .subarray(0, 16)
        .toString("hex")
        .replaceAll(/(.{4})(?=.)/g, "$1:"),
  },
  34: { bytes: 36, source: null },
  49: { bytes: 216, source: null },
  50: { bytes: 216, source: null },
};

function readBinary(bytes: Buffer): ProxyHeader {
  const said = bytes[12];
  if (said !== command.local && said !== command.proxy) return "bad";
  const tailBytes = bytes.readUInt16BE(14);
  if (tailBytes > tailBytesMax) return "bad";
  const length = fixedBytes + tailBytes;
  // What a proxy says about itself is skipped, whatever its family.
  const family = said === command.local ? families[0] : families[bytes[13] as number];
  if (family === undefined || tailBytes < family.bytes) return "bad";
  if (bytes.length < length) return "more";
  const client = family.source?.(bytes.subarray(fixedBytes)) ?? null;
  return { length, client: client && canonicalAddress(client) };
}

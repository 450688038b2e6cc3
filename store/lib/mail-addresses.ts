/** Mail addresses as RFC 5321 (4.1.2) and RFC 6532 (3.2) write them without quotes or comments: they read in one way only. */
import { isIP } from "node:net";

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\u{10ffff}-]+";
const label = "[A-Za-z0-9_\\u0080-\\u{10ffff}-]+";
const literal = "\\[[A-Fa-f0-9:.IPv]+\\]";
const address = `(?=[^@]{1,64}@)${atom}(?:\\.${atom})*@(?:${label}(?:\\.${label})*|${literal})`;

export const mailAddressForm = new RegExp(`^${address}$`, "u");

/** An address, or a name with one in angle brackets. */
export const mailboxForm = new RegExp(`^(?:[^<>",;@]{1,128} <${address}>|${address})$`, "u");

interface Mailbox {
  /** Empty: none. */
  readonly name: string;
  readonly address: string;
}

/** @param mailbox as `mailboxForm` has it; its name may also stand in quotes */
export function readMailbox(mailbox: string): Mailbox {
  const [, name = "", address = mailbox] = /^(.*) <([^<>]*)>$/.exec(mailbox) ?? [];
  return { name: name.replace(/^"(.*)"$/, "$1"), address };
}

/** The domain of a host: its name, or its address as a literal. */
export function mailDomain(host: string): string {
  const family = isIP(host);
  if (family === 0) return host;
  return family === 4 ? `[${host}]` : `[IPv6:${host}]`;
}

import { isIP } from "node:net";
import { createTransport } from "nodemailer";
import { mailDomain, readMailbox } from "../../store/lib/mail-addresses.js";
import type { MailServer, OwnMailServer } from "../config/config.js";
import type { AddressGuard } from "./addresses.js";
import {
  delivered,
  failed,
  formatSendError,
  refuseMessage,
  type SendOutcome,
  type SendToContactPoint,
  tidy,
} from "./sending.js";

interface EmailSettings {
  readonly to: readonly string[];
  /** Null: the deployment's. Its own counts only with a server of its own. */
  readonly from: string | null;
  /** Null: the deployment's. */
  readonly server: MailServer | null;
}

/** Bytes of one answer of the server. */
const answerBytesMax = 16_384;
const subjectLengthMax = 1000;

/** Sends mail of text by SMTP. */
export function createEmailSend(guard: AddressGuard, own: OwnMailServer | null): SendToContactPoint {
  return async ({ settings, secrets }, { subject, body, id }, signal) => {
    const { to, from, server } = settings as unknown as EmailSettings;
    const used = server ?? own;
    if (used === null)
      return refuseMessage("no mail server: neither the contact point nor SMTP_URL names one");
    const password = server === null ? own?.password : secrets.password;
    let host = used.host;
    try {
      // The connection goes to the address that was checked: a second look-up of the name could find another.
      if (server !== null) host = await guard.resolve(server.host, signal);
    } catch (error) {
      return failed(formatSendError(error));
    }
    const transport = createTransport({
      host,
      port: used.port,
      secure: used.security === "tls",
      requireTLS: used.security === "starttls",
      ignoreTLS: used.security === "none",
      ...(isIP(used.host) === 0 ? { tls: { servername: used.host } } : {}),
      ...(used.username === null ? {} : { auth: { user: used.username, pass: password ?? "" } }),
      // A server that does not close its side would otherwise keep the connection for a while.
      socketCloseTimeout: 0,
      maxResponseSize: answerBytesMax,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const sender = readMailbox(
      (server === null ? null : from) ?? own?.from ?? `tidemark@${mailDomain(used.host)}`,
    );
    const domain = sender.address.slice(sender.address.lastIndexOf("@") + 1);
    try {
      const { response, rejected } = await transport.sendMail({
        from: sender,
        // Objects are taken as they are; a text would be parsed again, as a list or a group.
        to: to.map((address) => ({ name: "", address })),
        subject: tidy(subject).slice(0, subjectLengthMax),
        text: body,
        // RFC 5322, 3.6.4: the right side names who made the left one unique.
        messageId: `<${id}@${domain}>`,
        headers: { "Auto-Submitted": "auto-generated" },
        signal,
      });
      const missed = rejected.length === 0 ? "" : `; refused for ${rejected.join(", ")}`;
      return delivered(tidy(response + missed));
    } catch (error) {
      return toSendOutcome(error);
    } finally {
      transport.close();
    }
  };
}

/** RFC 5321, 4.2.1: a reply of 4xx may be another later, one of 5xx will not. */
function toSendOutcome(error: unknown): SendOutcome {
  const { responseCode } = error as { responseCode?: number };
  const isFinal = responseCode !== undefined && responseCode >= 500;
  return isFinal ? refuseMessage(formatSendError(error)) : failed(formatSendError(error));
}

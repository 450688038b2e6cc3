/** Contact points of tests without a service, and senders that keep what they are given. */
import type { SendOutcome, SendToContactPoint } from "../../src/contact-points/sending.js";
import type { Senders } from "../../src/notifications/send-message.js";
import type { OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";

export const contactPoint = (fields: Partial<OpenContactPoint> = {}): OpenContactPoint => ({
  id: 1,
  tenant: 1,
  name: "on call",
  type: "webhook",
  enable: 1,
  language: "en",
  settings: {},
  secretNames: [],
  secrets: {},
  subjectTemplate: null,
  bodyTemplate: null,
  userIntID: null,
  createUser: null,
  createAt: 0,
  updateAt: null,
  ...fields,
});

export const ok: SendOutcome = { isDelivered: true, answer: "200 OK", isTransient: false };

type Sent = Parameters<SendToContactPoint>[1];

/** @param outcome of each */
export function delivering(outcome: () => SendOutcome | Promise<SendOutcome> = () => ok) {
  const messages: Sent[] = [];
  const send: SendToContactPoint = async (_point, outgoing) => {
    messages.push(outgoing);
    return outcome();
  };
  const senders: Senders = { webhook: send, email: send, mqtt: send };
  return { senders, messages };
}

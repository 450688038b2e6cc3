import { storedZone } from "../../query/zone.js";
import type { ContactType, OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";
import { blankSecrets } from "../contact-points/blank-secrets.js";
import {
  answerLengthMax,
  attempt,
  failed,
  formatSendError,
  type SendOutcome,
  type SendToContactPoint,
} from "../contact-points/sending.js";
import type { AlertMessage } from "./alert-message.js";
import { messageDocument } from "./message-texts.js";
import { renderMsMax, TemplateError, type TemplateRenderer } from "./templates.js";

export type Senders = Readonly<Record<ContactType, SendToContactPoint>>;

interface MessageTexts {
  readonly subject: string;
  readonly body: string;
}

type Author = Pick<OpenContactPoint, "tenant" | "type" | "language" | "subjectTemplate" | "bodyTemplate">;

/**
 * What a message says at a contact point: its templates, or else the built-in texts. @throws TemplateError
 * @param msMax milliseconds that the templates may take
 */
export async function renderMessage(
  renderer: TemplateRenderer,
  point: Author,
  message: AlertMessage,
  msMax: number,
): Promise<MessageTexts> {
  const document = messageDocument(message, point.language);
  const templates = { subject: point.subjectTemplate, body: point.bodyTemplate };
  const place = storedZone(message.timezone).name;
  const made = await renderer.render(point.tenant, templates, document, place, msMax);
  const subject = made.subject ?? document.subject;
  const builtIn = point.type === "email" ? document.text : JSON.stringify({ ...document, subject });
  return { subject, body: made.body ?? builtIn };
}

/**
 * Sends one message. An alert goes out in the built-in texts if its templates fail, and the answer then begins with the
 * reason. A test is always in the built-in texts: nobody mails words of his own to strangers as the deployment.
 * @param id of the notification; the same at each attempt
 * @param ending aborted when the service waits no longer
 */
export async function sendMessage(
  renderer: TemplateRenderer,
  senders: Senders,
  point: OpenContactPoint,
  { message, id }: { readonly message: AlertMessage; readonly id: string },
  ending: AbortSignal,
): Promise<SendOutcome> {
  const send = async (author: Author): Promise<SendOutcome> => {
    const { subject, body } = await renderMessage(renderer, author, message, renderMsMax);
    const made = { subject, body, id };
    const outcome = await attempt((signal) => senders[point.type](point, made, signal), ending);
    return { ...outcome, answer: blankSecrets(outcome.answer, point.secrets) };
  };
  const sendResult = await sendOrSayWhyNot(send, point, message);
  return { ...sendResult, answer: sendResult.answer.slice(0, answerLengthMax) };
}

async function sendOrSayWhyNot(
  send: (author: Author) => Promise<SendOutcome>,
  point: OpenContactPoint,
  { kind }: AlertMessage,
): Promise<SendOutcome> {
  const inBuiltInTexts = { ...point, subjectTemplate: null, bodyTemplate: null };
  try {
    return await send(kind === "test" ? inBuiltInTexts : point);
  } catch (error) {
    if (!(error instanceof TemplateError)) return failed(formatSendError(error));
    const reason = `cannot render the ${error.field} template: ${error.message}`;
    const outcome = await send(inBuiltInTexts);
    return { ...outcome, answer: `${reason}; sent in the built-in words: ${outcome.answer}` };
  }
}

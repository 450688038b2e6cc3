import type { ContactType, OpenContactPoint } from "../../store/metadata/notifications/contact-points.js";
import { failed, type Outcome, reasonOf, refused, type Send } from "../contact-points/sending.js";
import type { AlertMessage } from "./alert-message.js";
import { messageDocument } from "./message-texts.js";
import { TemplateError, type TemplateRenderer } from "./templates.js";

export type Senders = Readonly<Record<ContactType, Send>>;

/** What a message says at a contact point: its templates, or else the built-in texts. @throws TemplateError */
export async function renderMessage(
  renderer: TemplateRenderer,
  point: Pick<OpenContactPoint, "tenant" | "type" | "language" | "subjectTemplate" | "bodyTemplate">,
  message: AlertMessage,
): Promise<{ readonly subject: string; readonly body: string }> {
  const document = messageDocument(message, point.language);
  const templates = { subject: point.subjectTemplate, body: point.bodyTemplate };
  const made = await renderer.render(point.tenant, templates, document, message.timezone);
  const subject = made.subject ?? document.subject;
  const builtIn = point.type === "email" ? document.text : JSON.stringify({ ...document, subject });
  return { subject, body: made.body ?? builtIn };
}

/** Sends one message. @param id of the notification; the same at each attempt */
export async function sendMessage(
  renderer: TemplateRenderer,
  senders: Senders,
  point: OpenContactPoint,
  { message, id }: { readonly message: AlertMessage; readonly id: string },
): Promise<Outcome> {
  try {
    const { subject, body } = await renderMessage(renderer, point, message);
    return await senders[point.type](point, { subject, body, id });
  } catch (error) {
    return error instanceof TemplateError
      ? refused(`cannot render the ${error.field} template: ${error.message}`)
      : failed(reasonOf(error));
  }
}

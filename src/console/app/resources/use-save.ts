import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import type { Fields, FormBodyProps } from "./form-body.js";
import { createFormBody } from "./form-values.js";

/** The secret that only this answer contains: an API key, or the password of a tenant's first administrator. */
function findSecret(made: Fields | undefined): string | null {
  if (typeof made?.appSecret === "string") return `${String(made.appID)}:${made.appSecret}`;
  return typeof made?.password === "string" ? `${String(made.username)}\n${made.password}` : null;
}

/** Sends what is typed, and keeps it as it is where the service does not take it. */
export function useSave(
  { resource, record, within, onClose, known }: FormBodyProps,
  fields: Parameters<typeof createFormBody>[0],
  texts: { readonly value: Readonly<Record<string, string>> },
) {
  const faults = useSignal<Readonly<Record<string, string>>>({});
  /** A fault besides those of fields; empty: only fields have faults. */
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const secret = useSignal<string | null>(null);

  async function send(body: Fields): Promise<void> {
    if (record !== null) {
      await call("PUT", `${resource.path}/${record.id}`, { body });
      return onClose(true);
    }
    const made = await call<Fields | undefined>("POST", resource.path, { body: { ...within, ...body } });
    const madeSecret = findSecret(made);
    if (madeSecret === null) return onClose(true, made);
    secret.value = madeSecret;
  }

  async function save(): Promise<void> {
    faults.value = {};
    failure.value = null;
    const read = createFormBody(fields, texts.value, record === null ? null : known);
    if ("unreadable" in read) {
      faults.value = Object.fromEntries(read.unreadable.map((field) => [field, t("form.json")]));
      return;
    }
    isBusy.value = true;
    try {
      await send(read.body);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      faults.value = error.fields;
      const others = Object.entries(error.fields).filter(
        ([field]) => !fields.some(({ name }) => name === field),
      );
      const isOfFields = Object.keys(error.fields).length > 0 && others.length === 0;
      failure.value = isOfFields
        ? ""
        : [error.message, ...others.map(([field, fault]) => `${field} ${fault}`)].join("; ");
    } finally {
      isBusy.value = false;
    }
  }

  return { save, faults: faults.value, failure: failure.value, isBusy: isBusy.value, secret: secret.value };
}

/** The form of a record, as the API describes its body; what the service says of a field stands beside it. */

import { forms } from "tidemark:forms";
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure, call } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { language, t } from "../i18n.js";
import { fieldNames } from "../texts/fields.js";
import { editors } from "./editors.js";
import { FormInput } from "./FormInput.js";
import { bodyOf, textOf } from "./form-values.js";
import type { Resource, Row } from "./resources.js";

type Fields = Readonly<Record<string, unknown>>;

export interface ResourceFormProps {
  readonly resource: Resource;
  readonly form: string;
  /** Null: a new one. */
  readonly record: Row | null;
  /** What new records get besides, and what no field asks for. */
  readonly within: Readonly<Record<string, string | number>>;
  onClose(isChanged: boolean): void;
}

/** The record as it is now; empty: a new one. */
export interface FormBodyProps extends ResourceFormProps {
  readonly known: Fields;
}

/** Some records have an editor of their own. */
const bodyFor = ({ form }: ResourceFormProps): ComponentType<FormBodyProps> => editors[form] ?? FormOf;

export function ResourceForm(props: ResourceFormProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const { record, onClose } = props;
  const Body = bodyFor(props);
  return (
    <dialog
      ref={dialog}
      class={editors[props.form] === undefined ? "dialog" : "dialog wide"}
      onCancel={(event) => {
        event.preventDefault();
        onClose(false);
      }}
    >
      {record === null ? <Body {...props} known={{}} /> : <KnownForm {...props} id={record.id} />}
    </dialog>
  );
}

/** A list shows less than the record has: the form begins with what it is now. */
function KnownForm(props: ResourceFormProps & { readonly id: number }) {
  const path = `${props.resource.path}/${props.id}`;
  const detail = useAsk(path, (signal) => call<Fields>("GET", path, { signal }));
  const Body = bodyFor(props);
  return <Answer asked={detail}>{(known) => <Body {...props} known={known} />}</Answer>;
}

/** Forms with more fields begin with those that must be filled in. */
const fewFields = 8;

function FormOf(props: FormBodyProps) {
  const { resource, form, record, within, onClose, known } = props;
  const all = (record === null ? forms[form]?.create : forms[form]?.edit) ?? [];
  const fields = all.filter(({ name }) => !(name in within));
  const isWhole = useSignal(record !== null || fields.length <= fewFields);
  const texts = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map((field) => [field.name, textOf(field, known[field.name])])),
  );
  const { save, faults, failure, isBusy, secret } = useSave(props, fields, texts);
  const shown = isWhole.value || failure !== null ? fields : fields.filter(({ isRequired }) => isRequired);
  const name = fieldNames(language.value);

  if (secret !== null) return <ShownOnce secret={secret} onClose={() => onClose(true)} />;
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <h2>
        {t(resource.title)}: {t(record === null ? "form.new" : "form.edit")}
      </h2>
      <div class="fields">
        {shown.map((field) => (
          <FormInput
            key={field.name}
            field={field}
            label={name(field.name)}
            text={texts.value[field.name] ?? ""}
            fault={faults[field.name]}
            reference={resource.references?.[field.name]}
            within={within}
            onText={(text) => {
              texts.value = { ...texts.value, [field.name]: text };
            }}
          />
        ))}
      </div>
      {shown.length < fields.length && (
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          {t("form.more", { count: fields.length - shown.length })}
        </button>
      )}
      <FormButtons failure={failure} isBusy={isBusy} onCancel={() => onClose(false)} />
    </form>
  );
}

interface FormButtonsProps {
  /** What is wrong besides fields. */
  readonly failure: string | null;
  readonly isBusy: boolean;
  onCancel(): void;
}

export function FormButtons({ failure, isBusy, onCancel }: FormButtonsProps) {
  return (
    <>
      {failure !== null && failure !== "" && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      <p class="row">
        <button type="submit" class="button main" disabled={isBusy}>
          {t("action.save")}
        </button>
        <button type="button" class="button" onClick={onCancel}>
          {t("action.cancel")}
        </button>
      </p>
    </>
  );
}

/** Sends what is typed, and keeps it as it is where the service does not take it. */
export function useSave(
  { resource, record, within, onClose, known }: FormBodyProps,
  fields: Parameters<typeof bodyOf>[0],
  texts: { readonly value: Readonly<Record<string, string>> },
) {
  const faults = useSignal<Readonly<Record<string, string>>>({});
  /** What is wrong besides fields; empty: fields alone are. */
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const secret = useSignal<string | null>(null);

  async function send(body: Fields): Promise<void> {
    if (record !== null) {
      await call("PUT", `${resource.path}/${record.id}`, { body });
      return onClose(true);
    }
    const made = await call<Fields | undefined>("POST", resource.path, { body: { ...within, ...body } });
    if (typeof made?.appSecret !== "string") return onClose(true);
    secret.value = `${String(made.appID)}:${made.appSecret}`;
  }

  async function save(): Promise<void> {
    faults.value = {};
    failure.value = null;
    const read = bodyOf(fields, texts.value, record === null ? null : known);
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

/** A secret that the service tells once. */
function ShownOnce({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  return (
    <div class="form">
      <h2>{t("form.once")}</h2>
      <pre class="secret">{secret}</pre>
      <p>
        <button type="button" class="button main" onClick={onClose}>
          {t("action.close")}
        </button>
      </p>
    </div>
  );
}

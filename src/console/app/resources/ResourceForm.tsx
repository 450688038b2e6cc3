/** The form of a record, as the API describes its body; what the service says of a field stands beside it. */

import { forms } from "tidemark:forms";
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useRef } from "preact/hooks";
import { call } from "../api.js";
import { language, t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Dialog } from "../shell/Dialog.js";
import { fieldNames } from "../texts/fields.js";
import { editors } from "./editors.js";
import { FormInput } from "./FormInput.js";
import type { Fields, FormBodyProps, ResourceFormProps } from "./form-body.js";
import { formatFieldValue } from "./form-values.js";
import { RecordForm } from "./RecordForm.js";
import { useSave } from "./use-save.js";

/** Some records have an editor of their own. */
const bodyFor = ({ form }: ResourceFormProps): ComponentType<FormBodyProps> => editors[form] ?? FormOf;

export function ResourceForm(props: ResourceFormProps) {
  const { record, onClose } = props;
  const Body = bodyFor(props);
  return (
    <Dialog
      name={`${t(props.resource.title)}: ${t(record === null ? "form.new" : "form.edit")}`}
      class={editors[props.form] === undefined ? "" : "wide"}
      isForm
      onClose={() => onClose(false)}
    >
      {record === null ? <Body {...props} known={{}} /> : <KnownForm {...props} id={record.id} />}
    </Dialog>
  );
}

/** A list shows less than the record has: the form begins with what it is now. */
function KnownForm(props: ResourceFormProps & { readonly id: number }) {
  const path = `${props.resource.path}/${props.id}`;
  // Fetched only once: the typed values are compared with the record as it was then, even if others change it.
  const hasBegun = useRef(false);
  const detail = useQuery(hasBegun.current ? null : path, (signal) => call<Fields>("GET", path, { signal }));
  hasBegun.current ||= detail.data !== undefined;
  const Body = bodyFor(props);
  return <QueryResult asked={detail}>{(known) => <Body {...props} known={known} />}</QueryResult>;
}

/** Forms with more fields begin with those that must be filled in. */
const fewFields = 8;

function FormOf(props: FormBodyProps) {
  const { resource, form, record, within, onClose, known } = props;
  const all = (record === null ? forms[form]?.create : forms[form]?.edit) ?? [];
  const fields = all.filter(({ name }) => !(name in within) && resource.elsewhere?.includes(name) !== true);
  const isWhole = useSignal(record !== null || fields.length <= fewFields);
  const texts = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map((field) => [field.name, formatFieldValue(field, known[field.name])])),
  );
  const { save, faults, failure, isBusy, secret } = useSave(props, fields, texts);
  const shown = isWhole.value || failure !== null ? fields : fields.filter(({ isRequired }) => isRequired);
  const name = fieldNames(language.value);

  if (secret !== null) return <ShownOnce secret={secret} onClose={() => onClose(true)} />;
  return (
    <RecordForm
      resource={resource}
      record={record}
      failure={failure}
      isBusy={isBusy}
      onSave={save}
      onCancel={() => onClose(false)}
    >
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
    </RecordForm>
  );
}

/** A secret that the service returns only once. */
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

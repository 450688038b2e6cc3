/** One field of a form, by its kind. */

import type { FormField } from "tidemark:forms";
import { useId } from "preact/hooks";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { ReferenceInput } from "./ReferenceInput.js";
import type { Reference } from "./resources.js";

interface FormInputProps {
  readonly field: FormField;
  readonly label: string;
  readonly text: string;
  readonly fault: string | undefined;
  readonly reference: Reference | undefined;
  /** What the record belongs to: restricts the records that it may refer to. */
  readonly within: Readonly<Record<string, string | number>>;
  onText(text: string): void;
}

export function FormInput(props: FormInputProps) {
  const { field, label, fault } = props;
  const id = useId();
  return (
    <div class={`field ${field.kind}`}>
      <label class="name" for={id}>
        {label}
        {field.isRequired && <span aria-hidden="true"> *</span>}
      </label>
      <Input {...props} id={id} />
      {field.hint !== undefined && <span class="muted hint">{field.hint}</span>}
      {fault !== undefined && (
        <span class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}

const isYesNo = (choices: readonly (string | number)[]): boolean =>
  choices.length === 2 && choices.includes(0) && choices.includes(1);

/** Codes of fields that have the words of another one. */
const wordsOf: Readonly<Record<string, string>> = { severities: "alertSeverity" };

function Input({
  field,
  text,
  fault,
  reference,
  within,
  onText,
  id,
}: FormInputProps & { readonly id: string }) {
  const { kind, name, choices = [], isRequired } = field;
  const shared = {
    id,
    class: "input",
    required: isRequired,
    ...(fault === undefined ? {} : { "aria-invalid": "true" as const, "aria-describedby": `${id}-fault` }),
  };
  if (reference !== undefined) {
    return (
      <ReferenceInput shared={shared} text={text} reference={reference} within={within} onText={onText} />
    );
  }
  if (kind === "choice") {
    return (
      <select {...shared} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        {(!isRequired || text === "") && <option value="" />}
        {choices.map((choice) => (
          <option key={choice} value={String(choice)}>
            {isYesNo(choices) ? t(choice === 1 ? "word.yes" : "word.no") : describeCode(name, choice)}
          </option>
        ))}
      </select>
    );
  }
  if (kind === "boolean") {
    return (
      <select {...shared} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        <option value="">{t("word.no")}</option>
        <option value="true">{t("word.yes")}</option>
      </select>
    );
  }
  if (kind === "choices") {
    const chosen = new Set(text === "" ? [] : text.split(","));
    const toggle = (choice: string, isOn: boolean): void => {
      if (isOn) chosen.add(choice);
      else chosen.delete(choice);
      onText(
        choices
          .map(String)
          .filter((one) => chosen.has(one))
          .join(),
      );
    };
    return (
      <span class="row" id={id}>
        {choices.map((choice) => (
          <label key={choice} class="row">
            <input
              type="checkbox"
              checked={chosen.has(String(choice))}
              onChange={(event) => toggle(String(choice), event.currentTarget.checked)}
            />
            {describeCode(wordsOf[name] ?? name, choice)}
          </label>
        ))}
      </span>
    );
  }
  if (kind === "long" || kind === "json") {
    return (
      <textarea
        {...shared}
        class={kind === "json" ? "input mono" : "input"}
        value={text}
        spellcheck={false}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  }
  const input = {
    ...shared,
    value: text,
    onInput: (event: InputEventOf) => onText(event.currentTarget.value),
  };
  if (kind === "password") return <input {...input} type="password" autocomplete="new-password" />;
  const mode = kind === "integer" || kind === "number" ? "decimal" : "text";
  return <input {...input} type="text" autocomplete="off" inputMode={mode} />;
}

type InputEventOf = { readonly currentTarget: HTMLInputElement };

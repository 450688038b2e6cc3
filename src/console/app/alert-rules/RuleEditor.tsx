/** An alert rule as it is made: beside its fields, when it would have raised its alert. */

import { forms } from "tidemark:forms";
import { useSignal } from "@preact/signals";
import { FormulaInput } from "../formula/FormulaInput.js";
import { useFormulaScope } from "../formula/names.js";
import { language } from "../i18n.js";
import { FormInput } from "../resources/FormInput.js";
import type { FormBodyProps } from "../resources/form-body.js";
import { formatFieldValue } from "../resources/form-values.js";
import { RecordForm } from "../resources/RecordForm.js";
import { useSave } from "../resources/use-save.js";
import { fieldNames } from "../texts/fields.js";
import { Backtest } from "./Backtest.js";
import { ConditionBuilder } from "./ConditionBuilder.js";

export function RuleEditor(props: FormBodyProps) {
  const { form, record, known, within, resource } = props;
  const all = (record === null ? forms[form]?.create : forms[form]?.edit) ?? [];
  const fields = all.filter((field) => !(field.name in within) && field.name !== "productID");
  const texts = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map((field) => [field.name, formatFieldValue(field, known[field.name])])),
  );
  const { save, faults, failure, isBusy } = useSave(props, fields, texts);
  const found = useSignal<Readonly<Record<string, string>>>({});
  const { dataPointIntID = "", condition = "", duration = "", alertSeverity = "" } = texts.value;
  const scope = useFormulaScope(dataPointIntID);
  const name = fieldNames(language.value);
  const set = (field: string, text: string): void => {
    texts.value = { ...texts.value, [field]: text };
  };
  return (
    <RecordForm
      resource={resource}
      record={record}
      failure={failure}
      isBusy={isBusy}
      onSave={save}
      onCancel={() => props.onClose(false)}
    >
      <div class="fields">
        {fields
          .filter((field) => field.name !== "condition")
          .map((field) => (
            <FormInput
              key={field.name}
              field={field}
              label={name(field.name)}
              text={texts.value[field.name] ?? ""}
              fault={faults[field.name] ?? found.value[field.name]}
              reference={resource.references?.[field.name]}
              within={within}
              onText={(text) => set(field.name, text)}
            />
          ))}
      </div>
      <ConditionBuilder text={condition} scope={scope} onText={(text) => set("condition", text)} />
      <FormulaInput
        label={name("condition")}
        text={condition}
        fault={found.value.condition ?? faults.condition}
        points={scope?.others ?? []}
        onText={(text) => set("condition", text)}
      />
      <Backtest
        scope={scope}
        condition={condition}
        duration={duration}
        severity={alertSeverity}
        onFaults={(faults) => {
          found.value = faults;
        }}
      />
    </RecordForm>
  );
}

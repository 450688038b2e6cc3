/** A metric as it is made: beside its fields, what it gives over the last days of a device. */

import { forms } from "tidemark:forms";
import { useSignal } from "@preact/signals";
import { FormulaInput } from "../formula/FormulaInput.js";
import { useFormulaScope } from "../formula/names.js";
import { language, t } from "../i18n.js";
import { FormInput } from "../resources/FormInput.js";
import type { FormBodyProps } from "../resources/form-body.js";
import { formatFieldValue } from "../resources/form-values.js";
import { RecordForm } from "../resources/RecordForm.js";
import { useSave } from "../resources/use-save.js";
import { fieldNames } from "../texts/fields.js";
import { MetricPreview } from "./MetricPreview.js";

const [formulaType, aggregateType] = ["1", "2"];
const overFormula = "1";
const ownFields: ReadonlySet<string> = new Set([
  ...["metricName", "dataPointIntID", "metricType", "expressions", "aggregateType", "aggregateData"],
]);

export function MetricEditor(props: FormBodyProps) {
  const { form, record, known, within, resource } = props;
  const fields = (record === null ? forms[form]?.create : forms[form]?.edit) ?? [];
  const stored = Object.fromEntries(
    fields.map((field) => [field.name, formatFieldValue(field, known[field.name])]),
  );
  const texts = useSignal<Readonly<Record<string, string>>>({
    ...stored,
    metricType: stored.metricType || formulaType,
    aggregateType: stored.aggregateType || "3",
    aggregateData: stored.aggregateData || "2",
  });
  const isFormula = texts.value.metricType !== aggregateType;
  const hasExpression = isFormula || texts.value.aggregateData === overFormula;
  /** Fields that the form does not show keep their stored value. */
  const sent: Record<string, string> = { ...texts.value };
  for (const name of [
    ...(isFormula ? ["aggregateType", "aggregateData"] : []),
    ...(hasExpression ? [] : ["expressions"]),
  ])
    sent[name] = stored[name] ?? "";
  const { save, faults, failure, isBusy } = useSave(props, fields, { value: sent });
  const scope = useFormulaScope(texts.value.dataPointIntID ?? "");
  const previewFaults = useSignal<Readonly<Record<string, string>>>({});
  const name = fieldNames(language.value);
  const set = (field: string, text: string): void => {
    texts.value = { ...texts.value, [field]: text };
  };
  const input = (field: (typeof fields)[number]) => (
    <FormInput
      key={field.name}
      field={field.name === "metricType" ? { ...field, isRequired: true } : field}
      label={name(field.name)}
      text={texts.value[field.name] ?? ""}
      fault={
        faults[field.name] ?? (field.name === "expressions" ? undefined : previewFaults.value[field.name])
      }
      reference={resource.references?.[field.name]}
      within={within}
      onText={(text) => set(field.name, text)}
    />
  );
  const shown = fields.filter(
    (field) =>
      ownFields.has(field.name) &&
      field.name !== "expressions" &&
      !(isFormula && field.name.startsWith("aggregate")),
  );
  return (
    <RecordForm
      resource={resource}
      record={record}
      failure={failure}
      isBusy={isBusy}
      onSave={save}
      onCancel={() => props.onClose(false)}
    >
      <div class="fields">{shown.map(input)}</div>
      {hasExpression && (
        <FormulaInput
          label={name("expressions")}
          text={texts.value.expressions ?? ""}
          fault={previewFaults.value.expressions ?? faults.expressions}
          points={scope?.others ?? []}
          onText={(text) => set("expressions", text)}
        />
      )}
      <MetricPreview
        scope={scope}
        metric={{
          metricType: isFormula ? 1 : 2,
          ...(hasExpression ? { expressions: texts.value.expressions ?? "" } : {}),
          ...(isFormula
            ? {}
            : {
                aggregateType: Number(texts.value.aggregateType),
                aggregateData: Number(texts.value.aggregateData),
              }),
        }}
        name={texts.value.metricName ?? ""}
        onFaults={(found) => {
          previewFaults.value = found;
        }}
      />
      <details>
        <summary>{t("form.more", { count: fields.length - ownFields.size })}</summary>
        <div class="fields">{fields.filter((field) => !ownFields.has(field.name)).map(input)}</div>
      </details>
    </RecordForm>
  );
}

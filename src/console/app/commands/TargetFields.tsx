/** Whom it is for: a device, a gateway or a group, searched by its name. */
import { t } from "../i18n.js";
import { ReferenceInput } from "../resources/ReferenceInput.js";
import { Field } from "../shell/Field.js";
import { references, type Target, targetKinds } from "./command.js";

interface TargetFieldsProps {
  /** Absent: all. */
  readonly kinds?: readonly Target["kind"][];
  readonly target: Target;
  onTarget(target: Target): void;
}

export function TargetFields({ kinds = targetKinds, target, onTarget }: TargetFieldsProps) {
  return (
    <div class="command-target">
      <Field name={t("command.to")}>
        <select
          class="input"
          value={target.kind}
          onChange={(event) => {
            const kind = kinds.find((one) => one === event.currentTarget.value);
            if (kind !== undefined) onTarget({ kind, id: "" });
          }}
        >
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {t(`target.${kind}`)}
            </option>
          ))}
        </select>
      </Field>
      <Field name={t("command.target")}>
        <ReferenceInput
          key={target.kind}
          shared={{ class: "input", required: true }}
          text={target.id}
          reference={references[target.kind]}
          within={{}}
          onText={(id) => onTarget({ ...target, id })}
        />
      </Field>
    </div>
  );
}

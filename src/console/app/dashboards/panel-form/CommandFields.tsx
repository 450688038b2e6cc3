import { t } from "../../i18n.js";
import { Field } from "../../shell/Field.js";
import type { CommandPanel } from "../document.js";
import { TargetInput } from "../TargetInput.js";
import { OptionInput } from "./OptionInput.js";
import type { FormOf } from "./panel-form.js";

export function CommandFields({ panel, variables, onPanel }: FormOf<CommandPanel>) {
  const { deviceID, groupID, topic, ...rest } = panel;
  const kind = groupID === undefined ? "device" : "group";
  const withTopic = topic === undefined ? {} : { topic };
  const targeted = (next: "device" | "group", value: string): CommandPanel => ({
    ...rest,
    ...withTopic,
    ...(next === "group" ? { groupID: value } : { deviceID: value }),
  });
  return (
    <>
      <OptionInput
        name={t("board.to")}
        value={kind}
        options={[
          ["device", t("explore.device")],
          ["group", t("board.group")],
        ]}
        onValue={(next) => onPanel(targeted(next ?? "device", ""))}
      />
      <TargetInput
        name={t(kind === "group" ? "board.group" : "explore.device")}
        type={kind}
        value={groupID ?? deviceID ?? ""}
        variables={variables}
        onValue={(value) => onPanel(targeted(kind, value))}
      />
      <Field name={t("command.topic")}>
        <input
          class="input mono"
          placeholder="inbox"
          value={topic ?? ""}
          onInput={(event) => {
            const value = event.currentTarget.value;
            const { topic: _, ...without } = panel;
            onPanel(value === "" ? without : { ...panel, topic: value });
          }}
        />
      </Field>
      <Field name={t("command.payload")}>
        <textarea
          class="input mono"
          rows={4}
          value={panel.payload}
          onInput={(event) => onPanel({ ...panel, payload: event.currentTarget.value })}
        />
      </Field>
      <Field name={t("board.buttonText")}>
        <input
          class="input"
          maxLength={200}
          value={panel.label}
          onInput={(event) => onPanel({ ...panel, label: event.currentTarget.value })}
        />
      </Field>
      <label class="row">
        <input
          type="checkbox"
          checked={panel.confirm}
          onChange={(event) => onPanel({ ...panel, confirm: event.currentTarget.checked })}
        />
        {t("board.confirm")}
      </label>
    </>
  );
}

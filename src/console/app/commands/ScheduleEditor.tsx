/** A command that is sent later, or again and again. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { loadZone } from "../charts/zone.js";
import { language, t } from "../i18n.js";
import type { FormBodyProps } from "../resources/form-body.js";
import { RecordForm } from "../resources/RecordForm.js";
import { me } from "../session.js";
import { Field } from "../shell/Field.js";
import { shownZone } from "../shown.js";
import { fieldNames } from "../texts/fields.js";
import { useAct } from "../use-act.js";
import { CommandFields } from "./CommandFields.js";
import { commandBody, isChosen, nothingTyped, type Target } from "./command.js";
import { isTimed, publishTypes, type TypedTiming, timingBody } from "./schedule.js";
import { TargetFields } from "./TargetFields.js";
import { TimingFields } from "./TimingFields.js";

export function ScheduleEditor({ resource, within, onClose }: FormBodyProps) {
  const isOfGroup = within.publishType === publishTypes.group;
  const name = useSignal("");
  const target = useSignal<Target>({ kind: isOfGroup ? "group" : "device", id: "" });
  const typed = useSignal(nothingTyped);
  const timing = useSignal<TypedTiming>({ kind: "once", at: "", zone: shownZone(), minutes: "", cron: "" });
  const { act, failure, isBusy } = useAct();

  async function save(): Promise<void> {
    const path = isOfGroup ? "/group_schedule_publish" : "/device_schedule_publish";
    const isMade = await act(async () => {
      const { kind, zone } = timing.value;
      if (kind === "once" && !(await loadZone(zone))) {
        throw new ApiFailure(-1, "BAD_REQUEST", t("schedule.noZone", { zone }));
      }
      const body = {
        scheduleName: name.value.trim(),
        ...commandBody(target.value, typed.value),
        ...timingBody(timing.value, me.value?.timezone ?? "UTC"),
      };
      await call("POST", path, { body });
      return true;
    });
    if (isMade === true) onClose(true);
  }

  const isReady =
    name.value.trim() !== "" && isChosen(target.value) && typed.value.payload !== "" && isTimed(timing.value);
  return (
    <RecordForm
      resource={resource}
      record={null}
      class="command-form"
      failure={failure}
      isBusy={isBusy || !isReady}
      onSave={save}
      onCancel={() => onClose(false)}
    >
      <Field name={fieldNames(language.value)("scheduleName")}>
        <input
          class="input"
          required
          autocomplete="off"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </Field>
      <TargetFields
        kinds={isOfGroup ? ["group"] : ["device", "gateway"]}
        target={target.value}
        onTarget={(chosen) => {
          target.value = chosen;
        }}
      />
      <CommandFields
        kind={target.value.kind}
        typed={typed.value}
        onTyped={(now) => {
          typed.value = now;
        }}
      />
      <TimingFields
        timing={timing.value}
        onTiming={(now) => {
          timing.value = now;
        }}
      />
    </RecordForm>
  );
}

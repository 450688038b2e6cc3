/** The fields of a command: what is sent, and how. */
import { t } from "../i18n.js";
import { Field } from "../shell/Field.js";
import { inbox, type Target, type Typed } from "./command.js";

interface CommandFieldsProps {
  readonly kind: Target["kind"];
  readonly typed: Typed;
  onTyped(typed: Typed): void;
}

export function CommandFields({ kind, typed, onTyped }: CommandFieldsProps) {
  const put = (changes: Partial<Typed>) => onTyped({ ...typed, ...changes });
  const isSilent = kind === "group" && !typed.needAck;
  return (
    <>
      <Field name={t("command.payload")}>
        <textarea
          class="input mono"
          required
          spellcheck={false}
          value={typed.payload}
          onInput={(event) => put({ payload: event.currentTarget.value })}
        />
      </Field>
      <div class="command-options">
        <Field name={t("command.topic")}>
          <input
            class="input mono"
            placeholder={inbox}
            autocomplete="off"
            disabled={isSilent}
            value={isSilent ? "" : typed.topic}
            onInput={(event) => put({ topic: event.currentTarget.value })}
          />
        </Field>
        <Field name={t("command.qos")}>
          <select
            class="input"
            disabled={isSilent}
            value={isSilent ? "0" : typed.qos}
            onChange={(event) => put({ qos: event.currentTarget.value })}
          >
            <option value="1">{t("command.qos1")}</option>
            <option value="0">{t("command.qos0")}</option>
          </select>
        </Field>
        <Field name={t("command.ttl")}>
          <input
            class="input"
            inputMode="numeric"
            placeholder="3600"
            autocomplete="off"
            value={typed.ttl}
            onInput={(event) => put({ ttl: event.currentTarget.value })}
          />
        </Field>
        {kind === "group" && (
          <label class="row tight">
            <input
              type="checkbox"
              checked={typed.needAck}
              onChange={(event) => put({ needAck: event.currentTarget.checked })}
            />
            {t("command.needAck")}
          </label>
        )}
      </div>
    </>
  );
}

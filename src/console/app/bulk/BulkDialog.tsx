/** Asks what an action needs, or once more whether it is meant, and begins it. */
import { useSignal } from "@preact/signals";
import { ApiFailure, asCurl, call } from "../api.js";
import { t } from "../i18n.js";
import { ReferenceInput } from "../resources/ReferenceInput.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Dialog } from "../shell/Dialog.js";
import { parseTaskID } from "../tasks/task.js";
import { type BulkAction, remember } from "./begun.js";

type Target =
  | { readonly ids: readonly number[] }
  | { readonly filter: Readonly<Record<string, string | number>> };

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly count: number;
  readonly target: Target;
  onClose(): void;
  onBegun(taskID: string): void;
}

const groups = { path: "/groups", value: "id", label: "groupName" } as const;
const path = "/devices/bulk";

export function BulkDialog({ action, count, target, onClose, onBegun }: BulkDialogProps) {
  const [topic, payload, group, typed] = [useSignal(""), useSignal(""), useSignal(""), useSignal("")];
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const isOfGroup = action === "addToGroup" || action === "removeFromGroup";
  const isReady =
    action === "command"
      ? payload.value !== ""
      : isOfGroup
        ? /^\d+$/.test(group.value)
        : action !== "delete" || typed.value.trim() === String(count);
  const wanted = topic.value.trim();
  const body = {
    ...target,
    action,
    ...(action === "command" ? { payload: payload.value, ...(wanted === "" ? {} : { topic: wanted }) } : {}),
    ...(isOfGroup ? { groupIntID: Number(group.value) } : {}),
  };

  async function begin(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (!isReady || isBusy.value) return;
    isBusy.value = true;
    failure.value = null;
    try {
      const taskID = parseTaskID(await call<{ statusUrl: string }>("POST", path, { body }));
      remember(taskID, {
        action,
        ...(action === "command" ? { topic: wanted === "" ? "inbox" : wanted, payload: payload.value } : {}),
      });
      onClose();
      onBegun(taskID);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      failure.value =
        error.status === 0 ? t("state.away") : [error.message, ...Object.values(error.fields)].join(": ");
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <Dialog name={t(`bulk.${action}`)} isForm onClose={onClose}>
      <form class="form" onSubmit={begin}>
        <h2>{t(`bulk.${action}`)}</h2>
        <p>{t(`effect.${action}`, { count })}</p>
        {action === "command" && (
          <>
            <Field name={t("command.topic")}>
              <input
                class="input mono"
                placeholder="inbox"
                value={topic.value}
                onInput={(event) => {
                  topic.value = event.currentTarget.value;
                }}
              />
            </Field>
            <Field name={t("command.payload")}>
              <textarea
                class="input mono"
                required
                spellcheck={false}
                value={payload.value}
                onInput={(event) => {
                  payload.value = event.currentTarget.value;
                }}
              />
            </Field>
          </>
        )}
        {isOfGroup && (
          <Field name={t("bulk.group")}>
            <ReferenceInput
              shared={{ class: "input", required: true }}
              text={group.value}
              reference={groups}
              within={{}}
              onText={(text) => {
                group.value = text;
              }}
            />
          </Field>
        )}
        {action === "delete" && (
          <Field name={t("bulk.typeCount", { count })}>
            <input
              class="input"
              inputMode="numeric"
              autocomplete="off"
              value={typed.value}
              onInput={(event) => {
                typed.value = event.currentTarget.value;
              }}
            />
          </Field>
        )}
        {failure.value !== null && (
          <p class="notice bad" role="alert">
            {failure.value}
          </p>
        )}
        <p class="row">
          <button
            type="submit"
            class={`button ${action === "delete" ? "danger" : "main"}`}
            disabled={!isReady || isBusy.value}
          >
            {t(`bulk.${action}`)} ({count})
          </button>
          <button type="button" class="button" onClick={onClose}>
            {t("action.cancel")}
          </button>
          <CopyButton text={asCurl("POST", path, {}, body)}>{t("action.curl")}</CopyButton>
        </p>
      </form>
    </Dialog>
  );
}

function Field({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is within
    <label class="field">
      <span class="name">{name}</span>
      {children}
    </label>
  );
}

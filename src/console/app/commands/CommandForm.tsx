/** Sends a command, and shows what becomes of it until that is settled. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { asCurl, call } from "../api.js";
import { remember } from "../bulk/begun.js";
import { t } from "../i18n.js";
import { CopyButton } from "../shell/CopyButton.js";
import { TaskProgress } from "../tasks/TaskProgress.js";
import { parseTaskID } from "../tasks/task.js";
import { useAct } from "../use-act.js";
import { CommandFields } from "./CommandFields.js";
import { commandBody, inbox, isChosen, nothingTyped, type Target, type Typed } from "./command.js";
import { DeviceReceipt } from "./DeviceReceipt.js";

interface CommandFormProps {
  readonly target: Target;
  /** Where the target is chosen. */
  readonly children?: ComponentChildren;
}

type Sent =
  | { readonly taskID: string }
  | {
      readonly deviceIntID: number;
      readonly typed: Typed;
      readonly isTaken: boolean;
      readonly round: number;
    };

export function CommandForm({ target, children }: CommandFormProps) {
  const typed = useSignal(nothingTyped);
  const sent = useSignal<Sent | null>(null);
  const { act, failure, isBusy } = useAct();
  const path = target.kind === "group" ? "/group_publish" : "/device_publish";
  const body = commandBody(target, typed.value);

  async function toGroup(): Promise<Sent> {
    const taskID = parseTaskID(await call<{ statusUrl: string }>("POST", path, { body }));
    const { topic, payload, needAck } = typed.value;
    const wanted = topic.trim();
    // Without receipts there is nothing to count.
    if (needAck) remember(taskID, { action: "command", topic: wanted === "" ? inbox : wanted, payload });
    return { taskID };
  }

  async function toDevice(): Promise<Sent> {
    const { publishStatus } = await call<{ publishStatus: string }>("POST", path, { body });
    const round = sent.value !== null && "round" in sent.value ? sent.value.round + 1 : 1;
    return {
      deviceIntID: Number(target.id),
      typed: typed.value,
      isTaken: publishStatus === "successful",
      round,
    };
  }

  async function send(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const found = await act(target.kind === "group" ? toGroup : toDevice);
    if (found !== undefined) sent.value = found;
  }

  const isReady = isChosen(target) && typed.value.payload !== "";
  return (
    <form class="form command-form" onSubmit={send}>
      {children}
      <CommandFields
        kind={target.kind}
        typed={typed.value}
        onTyped={(now) => {
          typed.value = now;
        }}
      />
      <p class="row">
        <button type="submit" class="button main" disabled={!isReady || isBusy}>
          {t("command.send")}
        </button>
        <CopyButton text={asCurl("POST", path, {}, body)}>{t("action.curl")}</CopyButton>
      </p>
      {failure !== null && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      {failure === null && sent.value !== null && <Outcome sent={sent.value} />}
    </form>
  );
}

function Outcome({ sent }: { readonly sent: Sent }) {
  if ("taskID" in sent) return <TaskProgress key={sent.taskID} taskID={sent.taskID} />;
  return <DeviceReceipt key={sent.round} {...sent} />;
}

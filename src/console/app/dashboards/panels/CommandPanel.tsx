import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../../api.js";
import { t } from "../../i18n.js";
import { me } from "../../session.js";
import { Status } from "../../shell/Status.js";
import type { PanelProps } from "../context.js";
import type { CommandPanel as Command } from "../document.js";
import { filledIn, targetOf } from "../targets.js";

type Outcome = { readonly tone: "good" | "bad" | "idle"; readonly word: string };

export function CommandPanel({ panel, board }: PanelProps<Command>) {
  const { variables, chosen } = board;
  const isSure = useSignal(false);
  const outcome = useSignal<Outcome | null>(null);
  const isGroup = panel.groupID !== undefined;
  const text = panel.groupID ?? panel.deviceID ?? "";
  const target = targetOf(text, isGroup ? "group" : "device", variables, chosen);
  const mayCommand = me.value?.rights.includes("command") === true;
  const label = panel.label === "" ? t("command.send") : filledIn(panel.label, variables, chosen);

  async function send(): Promise<void> {
    isSure.value = false;
    if (target === null) return;
    outcome.value = { tone: "idle", word: t("state.loading") };
    const { topic } = panel;
    const body = {
      payload: filledIn(panel.payload, variables, chosen),
      ...(topic === undefined ? {} : { topic: filledIn(topic, variables, chosen) }),
    };
    try {
      if (isGroup) {
        await call("POST", "/group_publish", { body: { groupID: target.id, ...body } });
        outcome.value = { tone: "good", word: t("board.toGroup") };
        return;
      }
      const { publishStatus } = await call<{ readonly publishStatus: string }>("POST", "/device_publish", {
        body: { deviceID: target.id, ...body },
      });
      outcome.value =
        publishStatus === "successful"
          ? { tone: "good", word: t("command.sent") }
          : { tone: "bad", word: t("command.failed") };
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      outcome.value = { tone: "bad", word: [error.message, ...Object.values(error.fields)].join(": ") };
    }
  }

  return (
    <div class="command-panel">
      <p class="muted cut">{target === null ? t("board.noTarget") : <code>{target.id}</code>}</p>
      {mayCommand && (
        <p class="row">
          {isSure.value ? (
            <>
              <button type="button" class="button danger" onClick={() => void send()}>
                {t("board.sure", { label })}
              </button>
              <button
                type="button"
                class="button"
                onClick={() => {
                  isSure.value = false;
                }}
              >
                {t("action.cancel")}
              </button>
            </>
          ) : (
            <button
              type="button"
              class="button main"
              disabled={target === null}
              onClick={() => {
                if (panel.confirm) isSure.value = true;
                else void send();
              }}
            >
              {label}
            </button>
          )}
        </p>
      )}
      <p role="status">{outcome.value !== null && <Status {...outcome.value} />}</p>
    </div>
  );
}

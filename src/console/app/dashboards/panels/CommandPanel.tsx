import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../../api.js";
import { t } from "../../i18n.js";
import { me } from "../../session.js";
import { Status } from "../../shell/Status.js";
import type { PanelProps } from "../context.js";
import type { CommandPanel as Command } from "../document.js";
import { createCommandBody, prepareCommand, type Sent } from "../panel-command.js";
import { filledIn } from "../targets.js";

type Outcome = { readonly tone: "good" | "bad" | "idle"; readonly word: string };

export function CommandPanel({ panel, board }: PanelProps<Command>) {
  const { variables, chosen } = board;
  const isSure = useSignal(false);
  const outcome = useSignal<Outcome | null>(null);
  const sent = prepareCommand(panel, variables, chosen);
  const mayCommand = me.value?.rights.includes("command") === true;
  const label = panel.label === "" ? t("command.send") : filledIn(panel.label, variables, chosen);

  async function send(): Promise<void> {
    isSure.value = false;
    if (sent === null) return;
    outcome.value = { tone: "idle", word: t("state.loading") };
    try {
      const { publishStatus } =
        (await call<{ readonly publishStatus?: string } | undefined>("POST", sent.path, {
          body: createCommandBody(sent),
        })) ?? {};
      if (sent.path === "/group_publish") outcome.value = { tone: "good", word: t("board.toGroup") };
      else if (publishStatus === "successful") outcome.value = { tone: "good", word: t("command.sent") };
      else outcome.value = { tone: "bad", word: t("command.failed") };
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      outcome.value = { tone: "bad", word: [error.message, ...Object.values(error.fields)].join(": ") };
    }
  }

  return (
    <div class="command-panel">
      {sent === null ? <p class="muted">{t("board.noTarget")}</p> : <Message sent={sent} />}
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
              disabled={sent === null || sent.payload === null}
              onClick={() => {
                if (panel.confirm || sent?.isOfAddress === true) isSure.value = true;
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

/** To whom it goes and what, before it does. */
function Message({ sent: { to, topic, payload, isOfAddress } }: { readonly sent: Sent }) {
  return (
    <>
      <p class="message">
        <code>{to}</code> {topic !== null && <code>{topic}</code>} <code>{payload ?? ""}</code>
      </p>
      {payload === null && (
        <p class="status bad" role="alert">
          {t("board.noPayload")}
        </p>
      )}
      {isOfAddress && <p class="muted">{t("board.ofAddress")}</p>}
    </>
  );
}

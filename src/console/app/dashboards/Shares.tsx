/** Access to a dashboard without an account: links that are created, turned off and revoked. */

import { useSignal } from "@preact/signals";
import { ApiFailure, call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Status } from "../shell/Status.js";
import { TitledDialog } from "../shell/TitledDialog.js";
import { momentText, shownHeaders } from "../shown.js";
import type { Dashboard } from "./document.js";

interface ShareRow {
  readonly id: number;
  readonly name: string;
  readonly allowedOrigins: readonly string[];
  readonly expiresAt: number | null;
  readonly enable: number;
  readonly lastUsedAt: number | null;
}

interface SharesProps {
  readonly dashboard: Dashboard;
  onClose(): void;
}

const sharesShown = 100;

export function Shares({ dashboard, onClose }: SharesProps) {
  const path = `/dashboards/${dashboard.id}/shares`;
  const asked = useQuery(path, (signal) =>
    call<Page<ShareRow>>("GET", path, { query: { _limit: sharesShown }, headers: shownHeaders(), signal }),
  );
  const fault = useSignal<string | null>(null);
  async function act(action: () => Promise<unknown>): Promise<void> {
    fault.value = null;
    try {
      await action();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
    asked.again();
  }
  return (
    <TitledDialog title={t("board.share")} onClose={onClose}>
      <p class="muted">{t("share.about")}</p>
      <ShareForm path={path} onMade={asked.again} />
      {fault.value !== null && (
        <p class="notice bad" role="alert">
          {fault.value}
        </p>
      )}
      <QueryResult asked={asked}>
        {({ items }) => (
          <ul class="steps">
            {items.map((share) => (
              <li key={share.id}>
                <p class="row spread">
                  <span class="row">
                    <Status
                      tone={share.enable === 1 ? "good" : "idle"}
                      word={t(share.enable === 1 ? "share.on" : "share.off")}
                    />
                    <strong>{share.name}</strong>
                    <span class="muted">
                      {share.expiresAt !== null && t("share.until", { time: momentText(share.expiresAt) })}{" "}
                      {share.lastUsedAt !== null && t("share.used", { time: momentText(share.lastUsedAt) })}
                    </span>
                  </span>
                  <span class="row">
                    <button
                      type="button"
                      class="button"
                      onClick={() =>
                        void act(() =>
                          call("PUT", `${path}/${share.id}`, { body: { enable: 1 - share.enable } }),
                        )
                      }
                    >
                      {t(share.enable === 1 ? "share.turnOff" : "share.turnOn")}
                    </button>
                    <button
                      type="button"
                      class="button danger"
                      onClick={() => void act(() => call("DELETE", path, { query: { ids: share.id } }))}
                    >
                      {t("share.revoke")}
                    </button>
                  </span>
                </p>
                {share.allowedOrigins.length > 0 && (
                  <p class="muted mono">{share.allowedOrigins.join(" ")}</p>
                )}
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
    </TitledDialog>
  );
}

function ShareForm({ path, onMade }: { readonly path: string; onMade(): void }) {
  const faults = useSignal<Readonly<Record<string, string>>>({});
  /** Shown once. */
  const link = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  async function make(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    const element = event.currentTarget as HTMLFormElement;
    const form = new FormData(element);
    const text = (name: string): string => String(form.get(name)).trim();
    faults.value = {};
    isBusy.value = true;
    try {
      const made = await call<{ readonly path: string }>("POST", path, {
        body: {
          name: text("name"),
          allowedOrigins: text("origins")
            .split(/[\s,]+/)
            .filter(Boolean),
          // It holds on its last day too.
          ...(text("expires") === "" ? {} : { expiresAt: `${text("expires")} 23:59:59` }),
        },
      });
      link.value = location.origin + made.path;
      element.reset();
      onMade();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      faults.value = Object.keys(error.fields).length > 0 ? error.fields : { name: error.message };
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <form class="form" onSubmit={make}>
      <div class="fields">
        <label class="field">
          <span class="name">{t("board.name")}</span>
          <input class="input" name="name" required maxLength={255} />
          <Fault text={faults.value.name} />
        </label>
        <label class="field">
          <span class="name">{t("share.expires")}</span>
          <input class="input" name="expires" type="date" />
          <Fault text={faults.value.expiresAt} />
        </label>
      </div>
      <label class="field">
        <span class="name">{t("share.origins")}</span>
        <input class="input mono" name="origins" placeholder="https://intranet.example.com" />
        <Fault text={Object.entries(faults.value).find(([name]) => name.startsWith("allowedOrigins"))?.[1]} />
      </label>
      <p>
        <button type="submit" class="button main" disabled={isBusy.value}>
          {t("share.make")}
        </button>
      </p>
      {link.value !== null && (
        <div class="notice good">
          <p>{t("form.once")}</p>
          <pre class="secret">{link.value}</pre>
          <p class="row">
            <CopyButton text={link.value}>{t("share.copyLink")}</CopyButton>
            <CopyButton text={`<iframe src="${link.value}" width="100%" height="640"></iframe>`}>
              {t("share.copyFrame")}
            </CopyButton>
          </p>
        </div>
      )}
    </form>
  );
}

function Fault({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <span class="fault" role="alert">
      {text}
    </span>
  );
}

/** What the clients of a device have left with the service, and a way to end it. */

import { useSignal } from "@preact/signals";
import { ApiFailure, call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { me } from "../session.js";
import { Scroll } from "../shell/Scroll.js";
import { Status } from "../shell/Status.js";

interface Session {
  readonly clientID: string;
  readonly protocol: string | null;
  readonly isConnected: boolean;
  readonly IP: string | null;
  readonly connectedAt: string | null;
  readonly subscriptionCount: number;
  readonly queuedMessages: number;
  readonly queuedBytes: number;
}

const everyMs = 5000;
const sessionsMax = 100;

export function DeviceSessions({ id }: { readonly id: number }) {
  const path = `/devices/${id}/sessions`;
  const mayEnd = me.value?.rights.includes("write") === true;
  const sessions = useQuery(
    path,
    (signal) => call<Page<Session>>("GET", path, { query: { _limit: sessionsMax }, signal }),
    everyMs,
  );
  return (
    <section class="part">
      <h2>{t("session.title")}</h2>
      <QueryResult asked={sessions}>
        {({ items, meta }) =>
          items.length === 0 ? (
            <p class="muted">{t("session.none")}</p>
          ) : (
            <Scroll name={t("session.title")}>
              <table class="table records">
                <thead>
                  <tr>
                    <th>{t("session.client")}</th>
                    <th>{t("health.state")}</th>
                    <th>{t("session.from")}</th>
                    <th>{t("session.since")}</th>
                    <th>{t("session.subscriptions")}</th>
                    <th>{t("session.waiting")}</th>
                    {mayEnd && (
                      <th>
                        <span class="unseen">{t("session.end")}</span>
                      </th>
                    )}
                  </tr>
                </thead>
                <tbody>
                  {items.map((session) => (
                    <tr key={session.clientID}>
                      <SessionFigures {...session} />
                      {mayEnd && (
                        <td class="act">
                          <Ending path={path} clientID={session.clientID} onDone={sessions.again} />
                        </td>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
              {meta.count > items.length && <p class="muted">{t("session.more", { count: meta.count })}</p>}
            </Scroll>
          )
        }
      </QueryResult>
    </section>
  );
}

function SessionFigures({ clientID, protocol, isConnected, IP, connectedAt, ...figures }: Session) {
  return (
    <>
      <td>
        <code class="line" title={clientID}>
          {clientID}
        </code>
      </td>
      <td data-name={t("health.state")}>
        <Status
          tone={isConnected ? "good" : "idle"}
          word={isConnected ? (protocol ?? t("session.here")) : t("session.away")}
        />
      </td>
      <td class="mono" data-name={t("session.from")}>
        {IP ?? "–"}
      </td>
      <td class="mono" data-name={t("session.since")}>
        {connectedAt ?? "–"}
      </td>
      <td data-name={t("session.subscriptions")}>{figures.subscriptionCount}</td>
      <td data-name={t("session.waiting")}>
        {figures.queuedMessages === 0
          ? "–"
          : t("session.queued", { messages: figures.queuedMessages, bytes: figures.queuedBytes })}
      </td>
    </>
  );
}

interface EndingProps {
  readonly path: string;
  readonly clientID: string;
  onDone(): void;
}

/** Asks once more: what waits in the session is lost with it. */
function Ending({ path, clientID, onDone }: EndingProps) {
  const isAsking = useSignal(false);
  const fault = useSignal<string | null>(null);

  async function end(): Promise<void> {
    fault.value = null;
    try {
      await call("DELETE", path, { query: { clientIDs: clientID } });
      onDone();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = error.status === 0 ? t("state.away") : error.message;
    }
  }

  if (!isAsking.value) {
    return (
      <button
        type="button"
        class="button quiet"
        onClick={() => {
          isAsking.value = true;
        }}
      >
        {t("session.end")}
      </button>
    );
  }
  return (
    <span class="row" role="alertdialog" aria-label={t("session.end")}>
      {fault.value === null ? t("session.sure") : <span class="status bad">{fault.value}</span>}
      <button type="button" class="button danger" onClick={() => void end()}>
        {t("session.end")}
      </button>
      <button
        type="button"
        class="button"
        onClick={() => {
          isAsking.value = false;
        }}
      >
        {t("action.cancel")}
      </button>
    </span>
  );
}

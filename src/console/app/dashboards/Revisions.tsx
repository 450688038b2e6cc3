/** Versions of a dashboard that are kept: what has changed since each, and the way back. */

import { useSignal } from "@preact/signals";
import { ApiFailure, call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { TitledDialog } from "../shell/TitledDialog.js";
import { Moment, shownHeaders } from "../shown.js";
import { Changes } from "./Conflict.js";
import type { Dashboard, DashboardDocument } from "./document.js";

interface RevisionRow {
  readonly version: number;
  readonly createUser: string | null;
  readonly createAt: number;
}

interface RevisionsProps {
  readonly dashboard: Dashboard;
  readonly mayEdit: boolean;
  onClose(isChanged: boolean): void;
}

const kept = 20;

export function Revisions({ dashboard, mayEdit, onClose }: RevisionsProps) {
  const path = `/dashboards/${dashboard.id}/revisions`;
  const asked = useQuery(path, (signal) =>
    call<Page<RevisionRow>>("GET", path, { query: { _limit: kept }, headers: shownHeaders(), signal }),
  );
  const open = useSignal<number | null>(null);
  return (
    <TitledDialog title={t("board.revisions")} onClose={() => onClose(false)}>
      <QueryResult asked={asked}>
        {({ items }) => (
          <ul class="steps">
            {items.map(({ version, createUser, createAt }) => (
              <li key={version}>
                <p class="row spread">
                  <span>
                    <strong>{version}</strong> {createUser}{" "}
                    <span class="muted">
                      <Moment at={createAt} />
                    </span>
                  </span>
                  {version !== dashboard.version && (
                    <button
                      type="button"
                      class="button quiet"
                      aria-expanded={open.value === version}
                      onClick={() => {
                        open.value = open.value === version ? null : version;
                      }}
                    >
                      {t("board.compareNow")}
                    </button>
                  )}
                </p>
                {open.value === version && (
                  <Revision
                    dashboard={dashboard}
                    version={version}
                    mayEdit={mayEdit}
                    onRestored={() => onClose(true)}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
    </TitledDialog>
  );
}

interface RevisionProps {
  readonly dashboard: Dashboard;
  readonly version: number;
  readonly mayEdit: boolean;
  onRestored(): void;
}

function Revision({ dashboard, version, mayEdit, onRestored }: RevisionProps) {
  const { id, name, description } = dashboard;
  const path = `/dashboards/${id}/revisions/${version}`;
  const asked = useQuery(path, (signal) =>
    call<{ readonly document: DashboardDocument }>("GET", path, { signal }),
  );
  const fault = useSignal<string | null>(null);
  async function restore(document: DashboardDocument): Promise<void> {
    try {
      await call("PUT", `/dashboards/${id}`, { body: { version: dashboard.version, document } });
      onRestored();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = error.message;
    }
  }
  return (
    <QueryResult asked={asked}>
      {({ document }) => (
        <>
          <Changes title={t("board.since")} before={{ name, description, document }} after={dashboard} />
          {fault.value !== null && (
            <p class="notice bad" role="alert">
              {fault.value}
            </p>
          )}
          {mayEdit && (
            <button type="button" class="button" onClick={() => void restore(document)}>
              {t("board.restore")}
            </button>
          )}
        </>
      )}
    </QueryResult>
  );
}

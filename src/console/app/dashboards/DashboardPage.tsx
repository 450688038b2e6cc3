/** One dashboard: looked at, or edited. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { t } from "../i18n.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { CopyButton } from "../shell/CopyButton.js";
import { apiSource } from "./api-source.js";
import { BoardEditor } from "./BoardEditor.js";
import { BoardView } from "./BoardView.js";
import type { Dashboard } from "./document.js";
import { dropDraft, readDraft } from "./drafts.js";
import { Grid } from "./Grid.js";
import { Revisions } from "./Revisions.js";
import { Shares } from "./Shares.js";

export function DashboardPage({
  params: { id = "" },
}: {
  readonly params: Readonly<Record<string, string>>;
}) {
  const path = `/dashboards/${encodeURIComponent(id)}`;
  const asked = useAsk(path, (signal) => call<Dashboard>("GET", path, { signal }));
  const mayEdit = me.value?.rights.includes("write") === true;
  return (
    <Answer asked={asked}>
      {(dashboard) =>
        mayEdit && query.value.edit === "1" ? (
          <BoardEditor
            key={dashboard.version}
            dashboard={dashboard}
            onClose={() => {
              setQuery({ edit: undefined });
              asked.again();
            }}
          />
        ) : (
          <Shown dashboard={dashboard} mayEdit={mayEdit} onChanged={asked.again} />
        )
      }
    </Answer>
  );
}

interface ShownProps {
  readonly dashboard: Dashboard;
  readonly mayEdit: boolean;
  onChanged(): void;
}

function Shown({ dashboard, mayEdit, onChanged }: ShownProps) {
  const { id, name, description, document } = dashboard;
  const open = useSignal<"shares" | "revisions" | null>(null);
  const hasDraft = useSignal(mayEdit && readDraft(id) !== null);
  const close = (): void => {
    open.value = null;
  };
  const edit = (): void => setQuery({ edit: "1" }, { replace: false });
  return (
    <>
      <header>
        <div>
          <h1>{name}</h1>
          {description !== null && description !== "" && <p class="muted">{description}</p>}
        </div>
        <span class="row">
          <CopyButton text={JSON.stringify(document, null, 2)}>JSON</CopyButton>
          <button
            type="button"
            class="button"
            onClick={() => {
              open.value = "revisions";
            }}
          >
            {t("board.revisions")}
          </button>
          {mayEdit && (
            <>
              <button
                type="button"
                class="button"
                onClick={() => {
                  open.value = "shares";
                }}
              >
                {t("board.share")}
              </button>
              <button type="button" class="button main" onClick={edit}>
                {t("action.edit")}
              </button>
            </>
          )}
        </span>
      </header>
      {hasDraft.value && (
        <p class="notice row">
          {t("board.draft")}{" "}
          <button type="button" class="button" onClick={edit}>
            {t("board.goOn")}
          </button>
          <button
            type="button"
            class="button quiet"
            onClick={() => {
              dropDraft(id);
              hasDraft.value = false;
            }}
          >
            {t("board.discard")}
          </button>
        </p>
      )}
      <BoardView
        document={document}
        deploymentZone={me.value?.timezone ?? "UTC"}
        sourceOf={(chosen) => apiSource(document.variables, chosen)}
      >
        {(board) =>
          document.panels.length === 0 ? (
            <p class="notice">{t("board.empty")}</p>
          ) : (
            <Grid panels={document.panels} board={board} />
          )
        }
      </BoardView>
      {open.value === "shares" && <Shares dashboard={dashboard} onClose={close} />}
      {open.value === "revisions" && (
        <Revisions
          dashboard={dashboard}
          mayEdit={mayEdit}
          onClose={(isChanged) => {
            close();
            if (isChanged) onChanged();
          }}
        />
      )}
    </>
  );
}

/** One dashboard: looked at, or edited. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { call } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { CopyButton } from "../shell/CopyButton.js";
import { apiSource } from "./api-source.js";
import { BoardEditor } from "./BoardEditor.js";
import { BoardView } from "./BoardView.js";
import { Discard } from "./Discard.js";
import type { Dashboard } from "./document.js";
import { dropDraft, hasDraft, takeDraft } from "./drafts.js";
import { Grid } from "./Grid.js";
import { Revisions } from "./Revisions.js";
import { Shares } from "./Shares.js";

export function DashboardPage({
  params: { id = "" },
}: {
  readonly params: Readonly<Record<string, string>>;
}) {
  const path = `/dashboards/${encodeURIComponent(id)}`;
  const mayEdit = me.value?.rights.includes("write") === true;
  const isEdited = mayEdit && query.value.edit === "1";
  /** The path of the loaded dashboard: while it is edited it is not fetched again. */
  const known = useSignal<string | null>(null);
  const asked = useQuery(isEdited && known.value === path ? null : path, (signal) =>
    call<Dashboard>("GET", path, { signal }),
  );
  useEffect(() => {
    if (asked.data !== undefined && !asked.isLoading) known.value = path;
  }, [asked.data, asked.isLoading, path]);
  return (
    <QueryResult asked={asked}>
      {(dashboard) =>
        isEdited ? (
          <BoardEditor
            key={dashboard.id}
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
    </QueryResult>
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
  const isKept = useMemo(() => mayEdit && hasDraft(id), [id, mayEdit]);
  const isGivenUp = useSignal(false);
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
              <button type="button" class="button main" aria-keyshortcuts="e" onClick={edit}>
                {t("action.edit")}
              </button>
            </>
          )}
        </span>
      </header>
      {isKept && !isGivenUp.value && (
        <p class="notice row">
          {t("board.draft")}{" "}
          <button type="button" class="button" onClick={edit}>
            {t("board.goOn")}
          </button>
          <Discard
            onDiscard={() => {
              takeDraft(id);
              dropDraft(id);
              isGivenUp.value = true;
            }}
          />
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

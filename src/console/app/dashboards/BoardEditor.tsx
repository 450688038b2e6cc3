/** A dashboard while it is edited. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { me } from "../session.js";
import { AddPanel } from "./AddPanel.js";
import { apiSource } from "./api-source.js";
import { BoardView } from "./BoardView.js";
import { Conflict } from "./Conflict.js";
import { Discard } from "./Discard.js";
import {
  type Dashboard,
  type DashboardDocument,
  freePanelID,
  newPanel,
  type Panel,
  sizes,
} from "./document.js";
import { type Content, type Draft, takeDraft } from "./drafts.js";
import { EditGrid } from "./EditGrid.js";
import { compacted, freePlace } from "./layout.js";
import { PanelForm } from "./panel-form/PanelForm.js";
import { SettingsForm } from "./SettingsForm.js";
import { useDraft } from "./use-draft.js";

interface BoardEditorProps {
  readonly dashboard: Dashboard;
  onClose(): void;
}

/** Goes on with what is kept of an earlier edit, from the version with which that began. */
export function BoardEditor({ dashboard, onClose }: BoardEditorProps) {
  const begun = useRef<{ readonly dashboard: Dashboard; readonly draft: Draft | null } | null>(null);
  begun.current ??= { dashboard, draft: takeDraft(dashboard.id) };
  const { dashboard: opened, draft } = begun.current;
  const isOld = draft !== null && draft.version !== opened.version;
  const path = isOld ? `/dashboards/${opened.id}/revisions/${draft.version}` : null;
  const asked = useQuery(path, (signal) =>
    call<{ readonly document: DashboardDocument }>("GET", path ?? "", { signal }).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.status === 404) return null;
      throw error;
    }),
  );
  if (draft === null) return <Editor dashboard={opened} start={null} isForgotten={false} onClose={onClose} />;
  if (!isOld) {
    const start = { draft, base: opened };
    return <Editor dashboard={opened} start={start} isForgotten={false} onClose={onClose} />;
  }
  return (
    <QueryResult asked={asked}>
      {(revision) => (
        <Editor
          dashboard={opened}
          start={{
            draft,
            base: { ...draft.base, ...(revision === null ? {} : { document: revision.document }) },
          }}
          isForgotten={revision === null}
          onClose={onClose}
        />
      )}
    </QueryResult>
  );
}

interface EditorProps extends BoardEditorProps {
  readonly start: { readonly draft: Draft; readonly base: Content } | null;
  /** The version with which the edit began is not kept any more. */
  readonly isForgotten: boolean;
}

function Editor({ dashboard, start, isForgotten, onClose }: EditorProps) {
  const draft = useDraft(dashboard, start);
  const { content, changePanels } = draft;
  const { document } = content;
  const { panels, variables } = document;
  /** A panel's id, or the settings of the dashboard itself. */
  const open = useSignal<string | null>(null);
  const conflict = useSignal<Dashboard | null>(null);
  const { save, faults, isBusy } = useSave(dashboard.id, draft, onClose, (theirs) => {
    conflict.value = theirs;
  });
  const opened = panels.find(({ id }) => `panel ${id}` === open.value);

  function add(type: Panel["type"], like?: Panel): void {
    const id = freePanelID(panels);
    const size = like === undefined ? sizes[type] : ([like.layout.w, like.layout.h] as const);
    const layout = freePlace(panels, size);
    const added = like === undefined ? newPanel(type, id, layout) : { ...like, id, layout };
    changePanels((all) => [...all, added]);
    open.value = `panel ${id}`;
  }

  function close(): void {
    draft.drop();
    onClose();
  }

  const undo = useRef(draft.undo);
  undo.current = draft.undo;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isField = (event.target as Element).closest("input, textarea, select") !== null;
      if (event.key === "z" && (event.ctrlKey || event.metaKey) && !isField) undo.current();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);

  return (
    <>
      <header>
        <h1>{content.name}</h1>
        <span class="row">
          <AddPanel onAdd={add} />
          <button
            type="button"
            class="button"
            onClick={() => {
              open.value = "settings";
            }}
          >
            {t("board.settings")}
          </button>
          <button type="button" class="button" disabled={!draft.canUndo} onClick={draft.undo}>
            {t("board.undo")}
          </button>
          {draft.isChanged ? (
            <Discard onDiscard={close} />
          ) : (
            <button type="button" class="button" onClick={close}>
              {t("action.close")}
            </button>
          )}
          <button
            type="button"
            class="button main"
            disabled={isBusy || !draft.isChanged}
            onClick={() => void save()}
          >
            {t("action.save")}
          </button>
        </span>
      </header>
      {faults.length > 0 && (
        <ul class="notice bad" role="alert">
          {faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      )}
      {isForgotten && (
        <p class="notice warn">{t("board.forgotten", { version: start?.draft.version ?? 0 })}</p>
      )}
      {!draft.isKept && (
        <p class="notice warn" role="alert">
          {t("board.noRoom")}
        </p>
      )}
      <div class={open.value === null ? "" : "with-drawer"}>
        <div>
          <BoardView
            document={document}
            deploymentZone={me.value?.timezone ?? "UTC"}
            sourceOf={(chosen) => apiSource(variables, chosen)}
          >
            {(board) =>
              panels.length === 0 ? (
                <p class="notice">{t("board.first")}</p>
              ) : (
                <EditGrid
                  panels={panels}
                  board={board}
                  openID={opened?.id ?? null}
                  onPanels={changePanels}
                  onOpen={(id) => {
                    open.value = `panel ${id}`;
                  }}
                  onRemove={(id) => changePanels((all) => compacted(all.filter((panel) => panel.id !== id)))}
                  onCopy={(id) => {
                    const like = panels.find((panel) => panel.id === id);
                    if (like !== undefined) add(like.type, like);
                  }}
                />
              )
            }
          </BoardView>
        </div>
        {opened !== undefined && (
          <PanelForm
            key={opened.id}
            panel={opened}
            variables={variables}
            onPanel={(next) =>
              changePanels((all) =>
                // Where it stands is not of its form.
                all.map((panel) => (panel.id === next.id ? { ...next, layout: panel.layout } : panel)),
              )
            }
            onClose={() => {
              open.value = null;
            }}
          />
        )}
        {open.value === "settings" && (
          <SettingsForm
            content={content}
            onChange={draft.change}
            onClose={() => {
              open.value = null;
            }}
          />
        )}
      </div>
      {conflict.value !== null && (
        <Conflict
          base={draft.base}
          mine={content}
          theirs={conflict.value}
          onMine={(theirs) => {
            conflict.value = null;
            draft.rebase(theirs.version, theirs);
            void save(theirs.version);
          }}
          onTheirs={close}
          onClose={() => {
            conflict.value = null;
          }}
        />
      )}
    </>
  );
}

function useSave(
  id: number,
  draft: ReturnType<typeof useDraft>,
  onSaved: () => void,
  onConflict: (theirs: Dashboard) => void,
) {
  const faults = useSignal<readonly string[]>([]);
  const isBusy = useSignal(false);
  async function save(version = draft.version): Promise<void> {
    isBusy.value = true;
    faults.value = [];
    try {
      const sent = draft.content;
      await call("PUT", `/dashboards/${id}`, { body: { version, ...sent } });
      // Edits since the request was sent belong to the new version.
      if (draft.saved(version + 1, sent)) onSaved();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      const isOutdated = error.errorCode === "VERSION_CONFLICT";
      const theirs = isOutdated ? await call<Dashboard>("GET", `/dashboards/${id}`).catch(() => null) : null;
      if (theirs !== null) onConflict(theirs);
      else faults.value = listFaults(error, draft.content.document.panels);
    } finally {
      isBusy.value = false;
    }
  }
  return { save, faults: faults.value, isBusy: isBusy.value };
}

/** Paths into the document, with the panels called by their titles. */
function listFaults({ message, fields }: ApiFailure, panels: readonly Panel[]): string[] {
  const named = Object.entries(fields).map(([path, fault]) => {
    const [, index, rest = ""] = /^document\.panels\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const panel = index === undefined ? undefined : panels[Number(index)];
    if (panel === undefined) return `${path} ${fault}`;
    return `${panel.title === "" ? panel.id : panel.title}: ${rest} ${fault}`;
  });
  return named.length === 0 ? [message] : named;
}

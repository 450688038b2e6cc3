/** Somebody else has saved the dashboard meanwhile: what each has changed, and what is to become of it. Both stay. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { TitledDialog } from "../shell/TitledDialog.js";
import { differences } from "./differences.js";
import type { Dashboard } from "./document.js";
import type { Content } from "./drafts.js";

interface ConflictProps {
  /** The version that both have begun with. */
  readonly base: Content;
  readonly mine: Content;
  readonly theirs: Dashboard;
  /** Mine becomes the next version after theirs, which is kept among the versions. */
  onMine(theirs: Dashboard): void;
  onTheirs(): void;
  onClose(): void;
}

export function Conflict({ base, mine, theirs, onMine, onTheirs, onClose }: ConflictProps) {
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  async function copy(): Promise<void> {
    isBusy.value = true;
    try {
      const name = t("board.copyOf", { name: mine.name });
      await call("POST", "/dashboards", { body: { ...mine, name } });
      onTheirs();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <TitledDialog title={t("board.conflict", { version: theirs.version })} onClose={onClose}>
      <div class="fields">
        <Changes title={t("board.theirs")} before={base} after={theirs} />
        <Changes title={t("board.mine")} before={base} after={mine} />
      </div>
      {fault.value !== null && (
        <p class="notice bad" role="alert">
          {fault.value}
        </p>
      )}
      <p class="row">
        <button type="button" class="button main" onClick={() => onMine(theirs)}>
          {t("board.keepMine")}
        </button>
        <button type="button" class="button" disabled={isBusy.value} onClick={() => void copy()}>
          {t("board.keepCopy")}
        </button>
        <button type="button" class="button" onClick={onTheirs}>
          {t("board.keepTheirs")}
        </button>
      </p>
    </TitledDialog>
  );
}

interface ChangesProps {
  readonly title: string;
  readonly before: Content;
  readonly after: Content;
}

export function Changes({ title, before, after }: ChangesProps) {
  const found = differences(before, after);
  return (
    <section>
      <h3>{title}</h3>
      {found.length === 0 && <p class="muted">{t("board.same")}</p>}
      <ul>
        {found.map(({ kind, panel, fields }) => (
          <li key={`${kind} ${panel}`}>
            {panel === null ? t("board.itself") : `${t(`change.${kind}`)}: ${panel}`}{" "}
            <span class="muted">{fields.join(", ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Backups, a row each; a row opens to the command that restores it and to what it says of itself. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../i18n.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Status, type Tone } from "../shell/Status.js";
import { Moment } from "../shown.js";
import { useAct } from "../use-act.js";
import { agoText, type Backup, bytesText, removeBackup, restoreCommand } from "./kept.js";

interface BackupTableProps {
  readonly items: readonly Backup[];
  /** Whether a task works on one of them: one at a time. */
  readonly isWorking: boolean;
  onVerify(backup: Backup): void;
  onRemoved(): void;
}

const columns = 6;

export function BackupTable({ items, ...rest }: BackupTableProps) {
  return (
    <div class="scroll">
      <table class="table tasks kept">
        <thead>
          <tr>
            <th>{t("task.begun")}</th>
            <th>{t("task.state")}</th>
            <th>{t("backup.size")}</th>
            <th>{t("backup.holds")}</th>
            <th>{t("backup.verified")}</th>
            <th>
              <span class="unseen">{t("backup.acts")}</span>
            </th>
          </tr>
        </thead>
        {items.map((backup) => (
          <BackupRow key={backup.name} backup={backup} {...rest} />
        ))}
      </table>
    </div>
  );
}

const tones: Readonly<Record<Backup["state"], Tone>> = {
  complete: "good",
  running: "warn",
  unfinished: "idle",
  unreadable: "bad",
};

interface BackupRowProps extends Omit<BackupTableProps, "items"> {
  readonly backup: Backup;
}

/** What a row is open to, below it. */
type Opened = "restore" | "removal" | null;

function BackupRow({ backup, isWorking, onVerify, onRemoved }: BackupRowProps) {
  const opened = useSignal<Opened>(null);
  const { state, fault } = backup;
  const toggle = (what: Opened) => () => {
    opened.value = opened.value === what ? null : what;
  };
  return (
    <tbody>
      <tr>
        <BackupDetails {...backup} />
        <td class="act">
          {state === "complete" && (
            <>
              <button
                type="button"
                class="button quiet"
                aria-expanded={opened.value === "restore"}
                onClick={toggle("restore")}
              >
                {t("backup.restoring")}
              </button>
              <button
                type="button"
                class="button quiet"
                disabled={isWorking}
                onClick={() => onVerify(backup)}
              >
                {t("backup.check")}
              </button>
            </>
          )}
          {state !== "running" && (
            <button
              type="button"
              class="button quiet danger"
              aria-expanded={opened.value === "removal"}
              onClick={toggle("removal")}
            >
              {t("action.delete")}
            </button>
          )}
        </td>
      </tr>
      {fault !== null && (
        <Below>
          <span class="status bad">{fault}</span>
        </Below>
      )}
      {opened.value === "restore" && (
        <Below>
          <Details {...backup} />
        </Below>
      )}
      {opened.value === "removal" && (
        <Below>
          <Removal backup={backup} onCancel={toggle(null)} onRemoved={onRemoved} />
        </Below>
      )}
    </tbody>
  );
}

function Below({ children }: { readonly children: ComponentChildren }) {
  return (
    <tr class="opened">
      <td colSpan={columns}>{children}</td>
    </tr>
  );
}

function BackupDetails(backup: Backup) {
  const { beginAt, state, bytes, verifiedAt, isSound } = backup;
  const isDamaged = isSound === false;
  return (
    <>
      <td class="whole">
        <Moment at={beginAt} /> <span class="muted">{agoText(beginAt)}</span>
      </td>
      <td>
        <Status
          tone={isDamaged ? "bad" : tones[state]}
          word={t(isDamaged ? "backup.damaged" : `kept.${state}`)}
        />
      </td>
      <td class="whole">{bytes === null ? <span class="muted">–</span> : bytesText(bytes)}</td>
      <td>
        <Holds {...backup} />
      </td>
      <td class="whole">
        <span class="named muted">{t("backup.verified")} </span>
        <Moment at={verifiedAt} />
      </td>
    </>
  );
}

function Holds({ metadata, points, elsewhere }: Backup) {
  if (metadata === null || points === null) return <span class="muted">–</span>;
  if (elsewhere.length === 0) return <>{t("backup.whole")}</>;
  return (
    <span class="status warn">
      {[
        ...(points === "influxdb" ? [t("backup.noPoints")] : []),
        ...(metadata === "elsewhere" ? [t("backup.noMetadata")] : []),
      ].join(", ")}
    </span>
  );
}

function Details(backup: Backup) {
  const command = restoreCommand(backup);
  const { files, journalID, version, endAt, elsewhere } = backup;
  return (
    <div class="restore">
      <p>{t("backup.restoreHow")}</p>
      <figure>
        <figcaption class="row spread">
          {t("backup.restore")} <CopyButton text={command}>{t("action.copy")}</CopyButton>
        </figcaption>
        <pre class="secret">{command}</pre>
      </figure>
      {elsewhere.map((one) => (
        <p key={one} class="status warn">
          {one}
        </p>
      ))}
      <dl class="facts">
        <dt>{t("task.ended")}</dt>
        <dd>
          <Moment at={endAt} />
        </dd>
        <dt>{t("backup.files")}</dt>
        <dd>{files}</dd>
        <dt>{t("backup.journalID")}</dt>
        <dd>{journalID}</dd>
        <dt>{t("health.version")}</dt>
        <dd>{version}</dd>
      </dl>
    </div>
  );
}

interface RemovalProps {
  readonly backup: Backup;
  onCancel(): void;
  onRemoved(): void;
}

/** Asks once more: what it holds may be nowhere else. */
function Removal({ backup, onCancel, onRemoved }: RemovalProps) {
  const { act, failure, isBusy } = useAct();

  async function remove(): Promise<void> {
    const isRemoved = await act(async () => {
      await removeBackup(backup);
      return true;
    });
    if (isRemoved === true) onRemoved();
  }

  return (
    <span class="row" role="alertdialog" aria-label={t("action.delete")}>
      {failure === null ? t("backup.sure") : <span class="status bad">{failure}</span>}
      <button type="button" class="button danger" disabled={isBusy} onClick={() => void remove()}>
        {t("action.delete")}
      </button>
      <button type="button" class="button" onClick={onCancel}>
        {t("action.cancel")}
      </button>
    </span>
  );
}

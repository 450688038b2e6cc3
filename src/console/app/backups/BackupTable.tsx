/** Backups, a row each; a row opens to the command that restores it and to what it says of itself. */
import { useSignal } from "@preact/signals";
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
      <table class="table tasks">
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

function BackupRow({ backup, isWorking, onVerify, onRemoved }: BackupRowProps) {
  const isOpen = useSignal(false);
  const { beginAt, state, bytes, verifiedAt, isSound } = backup;
  const isDamaged = isSound === false;
  return (
    <tbody>
      <tr>
        <td>
          <Moment at={beginAt} /> <span class="muted">{agoText(beginAt)}</span>
        </td>
        <td>
          <Status
            tone={isDamaged ? "bad" : tones[state]}
            word={t(isDamaged ? "backup.damaged" : `backup.state.${state}`)}
          />
        </td>
        <td>{bytes === null ? "–" : bytesText(bytes)}</td>
        <td>
          <Holds {...backup} />
        </td>
        <td>
          <Moment at={verifiedAt} />
        </td>
        <td class="act">
          <span class="row">
            {state === "complete" && (
              <>
                <button
                  type="button"
                  class="button quiet"
                  aria-expanded={isOpen.value}
                  onClick={() => {
                    isOpen.value = !isOpen.value;
                  }}
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
            {state !== "running" && <Removal backup={backup} onRemoved={onRemoved} />}
          </span>
        </td>
      </tr>
      {backup.fault !== null && (
        <tr class="opened">
          <td colSpan={columns}>
            <span class="status bad">{backup.fault}</span>
          </td>
        </tr>
      )}
      {isOpen.value && (
        <tr class="opened">
          <td colSpan={columns}>
            <Details {...backup} />
          </td>
        </tr>
      )}
    </tbody>
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

/** Asks once more: what it holds may be nowhere else. */
function Removal({ backup, onRemoved }: { readonly backup: Backup; onRemoved(): void }) {
  const isAsking = useSignal(false);
  const { act, failure, isBusy } = useAct();

  async function remove(): Promise<void> {
    const isRemoved = await act(async () => {
      await removeBackup(backup);
      return true;
    });
    if (isRemoved !== true) return;
    isAsking.value = false;
    onRemoved();
  }

  if (!isAsking.value) {
    return (
      <button
        type="button"
        class="button quiet danger"
        onClick={() => {
          isAsking.value = true;
        }}
      >
        {t("action.delete")}
      </button>
    );
  }
  return (
    <span class="row" role="alertdialog" aria-label={t("action.delete")}>
      {failure === null ? t("backup.sure") : <span class="status bad">{failure}</span>}
      <button type="button" class="button danger" disabled={isBusy} onClick={() => void remove()}>
        {t("action.delete")}
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

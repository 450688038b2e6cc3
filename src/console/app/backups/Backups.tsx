/** The backups of the service: what there is, whether it can be relied on, and what is being done to it. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { query, setQuery } from "../router.js";
import { Status, type Tone } from "../shell/Status.js";
import { Moment } from "../shown.js";
import { TaskProgress } from "../tasks/TaskProgress.js";
import { parseTaskID } from "../tasks/task.js";
import { useAct } from "../use-act.js";
import { BackupCommands } from "./BackupCommands.js";
import { BackupTable } from "./BackupTable.js";
import { agoText, type BackupList, beginBackup, listBackups, verifyBackup } from "./kept.js";

const everyMs = 3000;
/** An older one is said to be old. */
const oldMs = 7 * 86_400_000;

export function Backups() {
  const { before } = query.value;
  const asked = useQuery(`backups ${before}`, (signal) => listBackups(before, signal), everyMs);
  // The service makes none: somebody does, by the commands.
  if (asked.failure?.fields.BACKUP_DIR !== undefined) return <BackupCommands />;
  return (
    <QueryResult asked={asked}>
      {(list) => <Folder list={list} isFirst={before === undefined} onChange={asked.again} />}
    </QueryResult>
  );
}

interface FolderProps {
  readonly list: BackupList;
  /** Whether the newest ones are shown. */
  readonly isFirst: boolean;
  onChange(): void;
}

function Folder({ list, isFirst, onChange }: FolderProps) {
  const { act, failure, isBusy } = useAct();
  /** Stays once it has ended, so that what came of it is read. */
  const task = useSignal<string | null>(null);
  const { running, items, next } = list;
  const runningID = running?.statusUrl == null ? null : parseTaskID({ statusUrl: running.statusUrl });
  useEffect(() => {
    if (runningID !== null) task.value = runningID;
  }, [runningID]);

  async function begin(work: () => Promise<{ readonly statusUrl: string }>): Promise<void> {
    const begun = await act(work);
    if (begun === undefined) return;
    task.value = parseTaskID(begun);
    onChange();
  }

  return (
    <section class="backups">
      {isFirst && <Newest {...list} />}
      <Settings {...list} />
      <p class="row">
        <button
          type="button"
          class="button main"
          disabled={isBusy || running !== null}
          onClick={() => void begin(beginBackup)}
        >
          {t("backup.begin")}
        </button>
        {running !== null && (
          <span class="muted">
            {t(running.kind === "backup" ? "backup.making" : "backup.verifying", { name: running.name })}
          </span>
        )}
      </p>
      {failure !== null && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      {task.value !== null && <TaskProgress key={task.value} taskID={task.value} onEnd={onChange} />}
      {items.length === 0 ? (
        <p class="notice">{t("backup.none")}</p>
      ) : (
        <BackupTable
          items={items}
          isWorking={isBusy || running !== null}
          onVerify={(backup) => void begin(() => verifyBackup(backup))}
          onRemoved={onChange}
        />
      )}
      {(next !== null || !isFirst) && (
        <p class="row">
          {!isFirst && (
            <button type="button" class="button" onClick={() => setQuery({ before: undefined })}>
              {t("backup.newest")}
            </button>
          )}
          {next !== null && (
            <button
              type="button"
              class="button"
              onClick={() => setQuery({ before: next }, { replace: false })}
            >
              {t("backup.older")}
            </button>
          )}
        </p>
      )}
      <p class="muted">{t("backup.key")}</p>
    </section>
  );
}

/** Whether there is one to rely on: by shape, word and colour. */
function Newest({ items, failure }: BackupList) {
  const newest = items.find(({ state }) => state === "complete");
  const age = newest === undefined ? null : Date.now() - (newest.endAt ?? newest.beginAt);
  const isDamaged = newest?.isSound === false;
  const tone: Tone = age === null || isDamaged ? "bad" : age > oldMs || failure !== null ? "warn" : "good";
  return (
    <>
      <p class="newest">
        <Status
          tone={tone}
          word={
            newest === undefined
              ? t("backup.noneYet")
              : t(isDamaged ? "backup.lastDamaged" : "backup.last", {
                  ago: agoText(newest.endAt ?? newest.beginAt),
                })
          }
        />
      </p>
      {failure !== null && (
        <p class="notice bad">
          {t("backup.failed", { reason: failure.reason })} <Moment at={failure.at} />
        </p>
      )}
    </>
  );
}

function Settings({ folder, keep, schedule, nextAt }: BackupList) {
  return (
    <dl class="facts">
      <dt>{t("backup.folder")}</dt>
      <dd class="mono">{folder}</dd>
      <dt>{t("backup.keeps")}</dt>
      <dd>{keep === null ? t("backup.all") : t("backup.newestOf", { count: keep })}</dd>
      <dt>{t("backup.schedule")}</dt>
      <dd>
        {schedule === null ? (
          <span class="muted">{t("backup.unscheduled")}</span>
        ) : (
          <span class="row">
            <code>{schedule}</code>
            {nextAt !== null && (
              <span>
                {t("backup.nextAt")} <Moment at={nextAt} />
              </span>
            )}
          </span>
        )}
      </dd>
    </dl>
  );
}

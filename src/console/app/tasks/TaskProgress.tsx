/** One task as it goes on: how far it is, what it has done, what failed and why, and the file that it left. */
import { useEffect } from "preact/hooks";
import { begunAs } from "../bulk/begun.js";
import { Receipts } from "../bulk/Receipts.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { TaskOutcome } from "./TaskOutcome.js";
import { TaskState } from "./TaskState.js";
import { downloadHref, hasEnded, taskStatus } from "./task.js";

const everyMs = 500;

interface TaskProgressProps {
  readonly taskID: string;
  /** Called once, when it has ended. */
  onEnd?(): void;
}

export function TaskProgress({ taskID, onEnd }: TaskProgressProps) {
  const asked = useQuery(`task ${taskID}`, (signal) => taskStatus(taskID, signal), everyMs, hasEnded);
  const isEnded = asked.data !== undefined && hasEnded(asked.data);
  useEffect(() => {
    if (isEnded) onEnd?.();
  }, [isEnded]);
  const begun = begunAs(taskID);
  return (
    <QueryResult asked={asked}>
      {(status) => (
        <div class="task">
          <p class="row">
            <TaskState state={status.state} />
            <progress max={100} value={status.current} aria-label={t("task.progress")} />
            <span class="muted">{status.current} %</span>
            {begun !== null && <span>{t(`bulk.${begun.action}`)}</span>}
            {begun?.topic !== undefined && <code class="line">{begun.topic}</code>}
            {begun?.payload !== undefined && <code class="line">{begun.payload}</code>}
          </p>
          <TaskOutcome msg={status.msg} />
          {begun?.action === "command" && <Receipts taskID={taskID} begun={begun} isEnded={isEnded} />}
          {typeof status.excelPath === "string" && (
            <p>
              <a class="button" href={downloadHref(status.excelPath)} download>
                {t(status.state === "FAILURE" || hasErrors(status.msg) ? "task.errorFile" : "task.file")}
              </a>
            </p>
          )}
        </div>
      )}
    </QueryResult>
  );
}

const hasErrors = (msg: unknown): boolean =>
  Array.isArray((msg as { errors?: unknown } | null)?.errors) &&
  (msg as { errors: readonly unknown[] }).errors.length > 0;

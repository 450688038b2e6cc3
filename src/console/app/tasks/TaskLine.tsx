/** A task in one line: how far it is, or how it ended. */

import { t } from "../i18n.js";
import type { Query } from "../query.js";
import { useQuery } from "../query.js";
import { TaskState } from "./TaskState.js";
import { hasEnded, parseTaskID, taskStatus } from "./task.js";

const lookMs = 500;

type Watched = Awaited<ReturnType<typeof taskStatus>> & { readonly statusUrl: string };

/** @param statusUrl as the service has answered; null: nothing has been started */
export function useTask<Message>(statusUrl: string | null) {
  const asked = useQuery<Watched | null>(
    `task ${statusUrl}`,
    async (signal) =>
      statusUrl === null ? null : { statusUrl, ...(await taskStatus(parseTaskID({ statusUrl }), signal)) },
    lookMs,
    (status) => status === null || hasEnded(status),
  );
  const status = asked.data?.statusUrl === statusUrl ? asked.data : null;
  const isOver = status !== null && hasEnded(status);
  const isFound = status?.state === "SUCCESS" && typeof status.msg === "object" && status.msg !== null;
  return { status, isOver, found: isFound ? (status.msg as Message) : null, failure: asked.failure };
}

interface TaskLineProps {
  readonly task: { readonly status: Watched | null } & Pick<Query<unknown>, "failure">;
}

export function TaskLine({ task: { status, failure } }: TaskLineProps) {
  if (failure !== null)
    return (
      <p class="notice bad" role="alert">
        {t("state.failed", { reason: failure.message })}
      </p>
    );
  const state = status?.state ?? "PENDING";
  return (
    <p class="row" role="status">
      <TaskState state={state} />
      {!hasEnded({ state }) && (
        <progress aria-label={t("task.progress")} max={100} value={status?.current ?? 0} />
      )}
      {state === "FAILURE" && <span>{String(status?.msg)}</span>}
    </p>
  );
}

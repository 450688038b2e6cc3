/** What runs in the background of the service, watched until it has ended. */
import { call } from "./api.js";
import { useAsk } from "./ask.js";
import { t } from "./i18n.js";
import { Status, type Tone } from "./shell/Status.js";

interface TaskStatus<Message> {
  readonly state: "PENDING" | "STARTED" | "PROGRESS" | "SUCCESS" | "FAILURE";
  /** 0 to 100. */
  readonly current: number;
  /** Counts; of a failure its reason. */
  readonly msg: Message | string | null;
}

const lookMs = 500;
const ended: ReadonlySet<string> = new Set(["SUCCESS", "FAILURE"]);

/** @param statusUrl as the service has answered; null: nothing has been started */
export function useTask<Message>(statusUrl: string | null) {
  const asked = useAsk(
    `task ${statusUrl}`,
    async (signal) =>
      statusUrl === null
        ? null
        : { statusUrl, ...(await call<TaskStatus<Message>>("GET", statusUrl, { signal })) },
    lookMs,
    (status) => status === null || ended.has(status.state),
  );
  const status = asked.data?.statusUrl === statusUrl ? asked.data : null;
  const isOver = status !== null && ended.has(status.state);
  const found =
    status?.state === "SUCCESS" && typeof status.msg === "object" && status.msg !== null ? status.msg : null;
  return { status, isOver, found, failure: asked.failure };
}

interface TaskLineProps {
  readonly task: Pick<ReturnType<typeof useTask>, "status" | "failure">;
}

/** How far it is, or how it ended. */
export function TaskLine({ task: { status, failure } }: TaskLineProps) {
  if (failure !== null)
    return (
      <p class="notice bad" role="alert">
        {t("state.failed", { reason: failure.message })}
      </p>
    );
  const state = status?.state ?? "PENDING";
  const tone: Tone = state === "SUCCESS" ? "good" : state === "FAILURE" ? "bad" : "idle";
  const word = t(
    state === "SUCCESS"
      ? "task.done"
      : state === "FAILURE"
        ? "task.failed"
        : state === "PENDING"
          ? "task.waits"
          : "task.runs",
  );
  return (
    <p class="row" role="status">
      <Status tone={tone} word={word} />
      {!ended.has(state) && <progress aria-label={word} max={100} value={status?.current ?? 0} />}
      {state === "FAILURE" && <span>{String(status?.msg)}</span>}
    </p>
  );
}

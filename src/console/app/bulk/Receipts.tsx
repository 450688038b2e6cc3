/** What became of a command to many devices: counted in the control logs that it has made, until none waits any more. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { Status, type Tone } from "../shell/Status.js";
import { listTasks } from "../tasks/task.js";
import type { Begun } from "./begun.js";

const everyMs = 1000;
/** A longer payload does not fit into a URL: the logs are then found by topic, sender and time alone. */
const payloadMax = 1500;

/** Statuses of control logs, in the order in which they are shown. */
const kinds = [
  { status: 2, name: "arrived", tone: "good" },
  { status: 3, name: "unasked", tone: "good" },
  { status: 1, name: "waiting", tone: "warn" },
  { status: 0, name: "failed", tone: "bad" },
] as const satisfies readonly { status: number; name: string; tone: Tone }[];

interface ReceiptsProps {
  readonly taskID: string;
  readonly begun: Begun;
  /** Whether the task has handed all of them over. */
  readonly isEnded: boolean;
}

export function Receipts({ taskID, begun, isEnded }: ReceiptsProps) {
  const isOver = useSignal(false);
  const asked = useQuery(
    `receipts ${taskID} ${isEnded}`,
    (signal) => counted(taskID, begun, signal),
    isOver.value ? undefined : everyMs,
  );
  const counts = asked.data;
  const isSettled = isEnded && counts !== undefined && counts[2] === 0;
  useEffect(() => {
    isOver.value = isSettled;
  }, [isSettled]);
  if (counts === undefined) return null;
  const sum = counts.reduce((all, one) => all + one, 0);
  return (
    <div class="receipts">
      <div class="share" aria-hidden="true">
        {kinds.map(({ name, tone }, i) =>
          (counts[i] ?? 0) === 0 ? null : (
            <span key={name} class={tone} style={{ width: `${(100 * (counts[i] ?? 0)) / sum}%` }} />
          ),
        )}
      </div>
      <p class="row" role="status">
        {kinds.map(({ name, tone }, i) =>
          (counts[i] ?? 0) === 0 && name !== "arrived" ? null : (
            <Status
              key={name}
              tone={(counts[i] ?? 0) === 0 ? "idle" : tone}
              word={t(`receipt.${name}`, { count: counts[i] ?? 0 })}
            />
          ),
        )}
      </p>
    </div>
  );
}

/** Two clocks of one deployment may differ by as much. */
const aroundMs = 1000;

/** Counts the receipts of each kind, in the order of `kinds`. */
async function counted(
  taskID: string,
  { topic, payload }: Begun,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const [task] = (await listTasks({ taskID, _limit: 1 }, signal)).items;
  if (task === undefined) return kinds.map(() => 0);
  const query = {
    topic,
    payload: (payload?.length ?? 0) <= payloadMax ? payload : undefined,
    publishUser: task.createUser,
    startTime: task.createAt - aroundMs,
    endTime: task.endAt === null ? undefined : task.endAt + aroundMs,
    _limit: 1,
  };
  return Promise.all(
    kinds.map(async ({ status }) => {
      const page = await call<Page<object>>("GET", "/device_control_logs", {
        query: { ...query, publishStatus: status },
        signal,
      });
      return page.meta.count;
    }),
  );
}

/** Work in the background of the last 24 hours, newest first, as it goes on. */

import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Pages } from "../resources/ResourceList.js";
import { formatHref, query, setQuery } from "../router.js";
import { Scroll } from "../shell/Scroll.js";
import { Moment } from "../shown.js";
import { countsIn } from "../tasks/TaskOutcome.js";
import { TaskProgress } from "../tasks/TaskProgress.js";
import { TaskState } from "../tasks/TaskState.js";
import { hasEnded, type ListedTask, listTasks, taskStates } from "../tasks/task.js";

const kinds = [
  ...(["bulk_devices", "devices_import", "devices_export", "original_data_import"] as const),
  ...(["redecode", "group_publish", "backup", "backup_verify"] as const),
] as const;
const rowsPerPage = 25;
const everyMs = 2000;

export function Tasks() {
  const { kind, state, page = "1", task } = query.value;
  const asked = {
    kind: kinds.find((one) => one === kind),
    state: taskStates.find((one) => one === state),
    _page: Math.max(1, Math.trunc(Number(page)) || 1),
    _limit: rowsPerPage,
  };
  const list = useQuery(`tasks ${JSON.stringify(asked)}`, (signal) => listTasks(asked, signal), everyMs);
  return (
    <section>
      <div class="row tools">
        <Choice name={t("task.kind")} field="kind" value={asked.kind} options={kinds} word={kindWord} />
        <Choice
          name={t("task.state")}
          field="state"
          value={asked.state}
          options={taskStates}
          word={(one) => t(`state.${one}`)}
        />
      </div>
      <QueryResult asked={list}>
        {({ items, meta }) => (
          <>
            {items.length === 0 ? (
              <p class="notice">
                {t(kind === undefined && state === undefined ? "task.none" : "list.nothing")}
              </p>
            ) : (
              <Scroll name={t("system.tasks")}>
                <table class="table tasks">
                  <thead>
                    <tr>
                      <th>{t("task.kind")}</th>
                      <th>{t("task.state")}</th>
                      <th>{t("task.says")}</th>
                      <th>{t("task.by")}</th>
                      <th>{t("task.begun")}</th>
                      <th>{t("task.ended")}</th>
                    </tr>
                  </thead>
                  {items.map((one) => (
                    <Row key={one.taskID} task={one} isOpen={one.taskID === task} />
                  ))}
                </table>
              </Scroll>
            )}
            <Pages {...meta} />
          </>
        )}
      </QueryResult>
    </section>
  );
}

const kindWord = (kind: (typeof kinds)[number]): string => t(`kind.${kind}`);

function Row({ task, isOpen }: { readonly task: ListedTask; readonly isOpen: boolean }) {
  const { taskID, kind, state, current, msg, createUser, createAt, endAt } = task;
  const known = kinds.find((one) => one === kind);
  return (
    <tbody>
      <tr>
        <td>
          <a
            href={formatHref("/system", { ...query.value, task: isOpen ? undefined : taskID })}
            aria-expanded={isOpen}
          >
            {known === undefined ? kind : kindWord(known)}
          </a>
        </td>
        <td>
          <span class="row">
            <TaskState state={state} />
            {!hasEnded(task) && <progress max={100} value={current} aria-label={t("task.progress")} />}
          </span>
        </td>
        <td>{msg === null ? <span class="muted">–</span> : <Said msg={msg} />}</td>
        <td>{createUser ?? <span class="muted">–</span>}</td>
        <td>
          <Moment at={createAt} />
        </td>
        <td>
          <Moment at={endAt} />
        </td>
      </tr>
      {isOpen && (
        <tr class="opened">
          <td colSpan={6}>
            <TaskProgress taskID={taskID} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

/** The list has the first of what a task says, which may be cut. */
function Said({ msg }: { readonly msg: string }) {
  const text = (msg.startsWith("{") && countsIn(msg)) || msg;
  return (
    <span class="line" title={text}>
      {text}
    </span>
  );
}

interface ChoiceProps<Value extends string> {
  readonly name: string;
  /** In the address. */
  readonly field: "kind" | "state";
  readonly value: Value | undefined;
  readonly options: readonly Value[];
  word(value: Value): string;
}

function Choice<Value extends string>({ name, field, value, options, word }: ChoiceProps<Value>) {
  return (
    <select
      class="input choice"
      aria-label={name}
      value={value ?? ""}
      onChange={(event) =>
        setQuery({ [field]: event.currentTarget.value, page: undefined }, { replace: false })
      }
    >
      <option value="">{name}</option>
      {options.map((one) => (
        <option key={one} value={one}>
          {word(one)}
        </option>
      ))}
    </select>
  );
}

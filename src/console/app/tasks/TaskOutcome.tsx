/** What a task says of itself: counts by their names, why it failed, and what failed within it. */

import { t } from "../i18n.js";
import { formatHref } from "../router.js";
import { Scroll } from "../shell/Scroll.js";
import type { TextKey } from "../texts/texts.js";

/** In the order in which they are read. */
const counts = [
  ...(["total", "done", "failed", "export_success_num", "import_success_num"] as const),
  ...(["import_failure_num", "publish_success_num", "publish_failure_num"] as const),
  ...(["messages_num", "points_num", "changed_num", "unchanged_num"] as const),
  ...(["files_num", "removed_num"] as const),
] as const;
const failures: ReadonlySet<string> = new Set(["failed", "import_failure_num", "publish_failure_num"]);

interface DeviceError {
  readonly id: number;
  readonly reason: string;
}

interface LineError {
  readonly line: number;
  readonly column: string;
  readonly error: string;
}

const shownMax = 100;

/** The counts that a message has, in words; it may be the first part of a text of JSON. Empty if it has none. */
export function countsIn(msg: string): string {
  return counts
    .flatMap((name) => {
      const [, count] = new RegExp(`"${name}":(\\d+)`).exec(msg) ?? [];
      return count === undefined ? [] : [`${count} ${t(`outcome.${name}`)}`];
    })
    .join(", ");
}

export function TaskOutcome({ msg }: { readonly msg: unknown }) {
  if (msg === null || msg === undefined) return null;
  if (typeof msg !== "object") {
    return (
      <p class="notice bad" role="alert">
        {String(msg)}
      </p>
    );
  }
  const fields = msg as Readonly<Record<string, unknown>>;
  const shown = counts.filter((name) => typeof fields[name] === "number");
  const ignored = fields.ignored_columns as readonly string[] | undefined;
  const errors = Array.isArray(fields.errors) ? (fields.errors as readonly (DeviceError | LineError)[]) : [];
  return (
    <>
      <dl class="figures">
        {shown.map((name) => (
          <div key={name}>
            <dt>{t(`outcome.${name}` satisfies TextKey)}</dt>
            <dd class={failures.has(name) && fields[name] !== 0 ? "status bad" : ""}>
              {String(fields[name])}
            </dd>
          </div>
        ))}
      </dl>
      {ignored !== undefined && (
        <p class="status warn">{t("task.ignored", { columns: ignored.join(", ") })}</p>
      )}
      {typeof fields.failed === "number" && fields.failed > errors.length && (
        <p class="muted">{t("task.moreErrors", { count: fields.failed - errors.length })}</p>
      )}
      <Reasons devices={errors.filter((one): one is DeviceError => "reason" in one)} />
      <Lines lines={errors.filter((one): one is LineError => "line" in one)} />
    </>
  );
}

/** One row a reason, with the devices that it was given for. */
function Reasons({ devices }: { readonly devices: readonly DeviceError[] }) {
  const byReason = new Map<string, number[]>();
  for (const { id, reason } of devices) byReason.set(reason, [...(byReason.get(reason) ?? []), id]);
  return (
    <>
      {[...byReason].map(([reason, ids]) => (
        <details key={reason} class="reason">
          <summary>
            <span class="status bad">{ids.length}</span> {reason}
          </summary>
          <p class="row">
            {ids.map((id) => (
              <a key={id} class="mono" href={formatHref(`/devices/${id}`)}>
                {id}
              </a>
            ))}
          </p>
        </details>
      ))}
    </>
  );
}

function Lines({ lines }: { readonly lines: readonly LineError[] }) {
  if (lines.length === 0) return null;
  return (
    <Scroll name={t("task.why")}>
      <table class="table faults">
        <thead>
          <tr>
            <th>{t("task.line")}</th>
            <th>{t("task.column")}</th>
            <th>{t("task.why")}</th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, shownMax).map(({ line, column, error }) => (
            <tr key={`${line} ${column}`}>
              <td class="mono">{line}</td>
              <td>
                <code>{column}</code>
              </td>
              <td>{error}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > shownMax && (
        <p class="muted">{t("task.moreLines", { count: lines.length - shownMax })}</p>
      )}
    </Scroll>
  );
}

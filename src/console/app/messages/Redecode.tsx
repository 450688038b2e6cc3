/** Kept messages decoded again: first what would come of it, then, if it is wanted, it itself. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { TimeInput } from "../range/RangePicker.js";
import { me } from "../session.js";
import { TaskLine, useTask } from "../tasks/TaskLine.js";

interface Counted {
  readonly messages_num: number;
  readonly points_num: number;
  readonly changed_num?: number;
  readonly unchanged_num?: number;
  readonly refused?: Readonly<Record<string, number>>;
}

const weekMs = 7 * 86_400_000;

export function Redecode({ device }: { readonly device: number }) {
  const zone = me.value?.timezone ?? "UTC";
  const now = useSignal(Date.now());
  const from = useSignal(Math.floor((now.value - weekMs) / 1000) * 1000);
  const to = useSignal<number | null>(null);
  const preview = useSignal<string | null>(null);
  const real = useSignal<string | null>(null);
  const fault = useSignal<string | null>(null);
  const previewed = useTask<Counted>(preview.value);
  const done = useTask<Counted>(real.value);
  if (me.value?.rights.includes("write") !== true) return null;

  async function start(dryRun: boolean): Promise<void> {
    fault.value = null;
    try {
      const { statusUrl } = await call<{ statusUrl: string }>("POST", `/devices/${device}/redecode`, {
        body: {
          startTime: new Date(from.value).toISOString(),
          ...(to.value === null ? {} : { endTime: new Date(to.value).toISOString() }),
          dryRun,
        },
      });
      real.value = dryRun ? null : statusUrl;
      if (dryRun) preview.value = statusUrl;
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
  }
  /** Another range has another preview. */
  function change(action: () => void): void {
    action();
    preview.value = null;
    real.value = null;
  }
  const { found } = previewed;
  return (
    <details class="try">
      <summary>{t("redecode.title")}</summary>
      <div class="form">
        <p class="muted">{t("redecode.text")}</p>
        <div class="row">
          <TimeInput
            label={t("range.from")}
            zone={zone}
            time={from.value}
            onTime={(time) =>
              change(() => {
                from.value = time;
              })
            }
          />
          <TimeInput
            label={t("range.to")}
            zone={zone}
            time={to.value ?? now.value}
            onTime={(time) =>
              change(() => {
                to.value = time;
              })
            }
          />
          <button type="button" class="button" onClick={() => void start(true)}>
            {t("redecode.preview")}
          </button>
        </div>
        {fault.value !== null && (
          <p class="notice bad" role="alert">
            {fault.value}
          </p>
        )}
        {preview.value !== null && <TaskLine task={previewed} />}
        {found !== null && (
          <>
            <p>
              <strong>{t("redecode.appear", { count: found.points_num })}</strong>{" "}
              {t("redecode.rest", {
                messages: found.messages_num,
                changed: found.changed_num ?? 0,
                unchanged: found.unchanged_num ?? 0,
              })}
            </p>
            <ul class="row">
              {Object.entries(found.refused ?? {}).map(([reason, count]) => (
                <li key={reason} class="status warn">
                  {t("device.refused", { count, reason })}
                </li>
              ))}
            </ul>
            {found.points_num > 0 && real.value === null && (
              <p>
                <button type="button" class="button main" onClick={() => void start(false)}>
                  {t("redecode.run", { count: found.points_num })}
                </button>
              </p>
            )}
          </>
        )}
        {real.value !== null && <TaskLine task={done} />}
        {done.found !== null && <p>{t("redecode.done", { count: done.found.points_num })}</p>}
      </div>
    </details>
  );
}

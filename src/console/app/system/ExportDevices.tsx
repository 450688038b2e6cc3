/** Exports the devices as a file that an import takes. It has their tokens, so read-only users cannot have it. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { TaskProgress } from "../tasks/TaskProgress.js";
import { parseTaskID } from "../tasks/task.js";

const formats = ["xlsx", "csv"] as const;

export function ExportDevices() {
  const taskID = useSignal<string | null>(null);
  const failure = useSignal<string | null>(null);

  async function begin(format: (typeof formats)[number]): Promise<void> {
    failure.value = null;
    try {
      const query = { format };
      taskID.value = parseTaskID(await call<{ statusUrl: string }>("GET", "/devices_export", { query }));
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      failure.value = error.status === 0 ? t("state.away") : error.message;
    }
  }

  return (
    <section class="transfer">
      <h2>{t("transfer.devicesOut")}</h2>
      <p class="muted">{t("transfer.tokens")}</p>
      <p class="row">
        {formats.map((format) => (
          <button key={format} type="button" class="button" onClick={() => void begin(format)}>
            {t("transfer.as", { format })}
          </button>
        ))}
      </p>
      {failure.value !== null && (
        <p class="notice bad" role="alert">
          {failure.value}
        </p>
      )}
      {taskID.value !== null && <TaskProgress key={taskID.value} taskID={taskID.value} />}
    </section>
  );
}

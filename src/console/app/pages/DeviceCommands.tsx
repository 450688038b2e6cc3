/** Commands to a device, and what became of each. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { me } from "../session.js";
import type { DeviceRecord } from "./device-record.js";

const refreshMs = 1000;

export function DeviceCommands({ device }: { readonly device: DeviceRecord }) {
  const mayCommand = me.value?.rights.includes("command") === true;
  const logs = {
    ...resources.controlLogs,
    path: `/devices/${device.id}/control_logs`,
    filters: resources.controlLogs.filters.filter(({ kind }) => kind !== "record"),
    columns: ["topic", "payload", "publishStatus", "publishUser", "createAt", "updateAt"],
  };
  const { search: _, beginning: _beginning, ...ofDevice } = logs;
  return (
    <section>
      {mayCommand && <SendForm device={device} />}
      <ResourceList resource={ofDevice} everyMs={refreshMs} />
    </section>
  );
}

function SendForm({ device }: { readonly device: DeviceRecord }) {
  const fault = useSignal<string | null>(null);
  const outcome = useSignal<string | null>(null);
  async function send(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const topic = String(form.get("topic")).trim();
    fault.value = null;
    outcome.value = null;
    try {
      const { publishStatus } = await call<{ publishStatus: string }>("POST", "/device_publish", {
        body: {
          deviceIntID: device.id,
          payload: String(form.get("payload")),
          ...(topic === "" ? {} : { topic }),
        },
      });
      if (publishStatus === "successful") outcome.value = t("command.sent");
      else fault.value = t("command.failed");
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
  }
  return (
    <form class="row send" onSubmit={send}>
      <input class="input" name="topic" placeholder="inbox" aria-label={t("command.topic")} />
      <textarea class="input mono" name="payload" required rows={1} aria-label={t("command.payload")} />
      <button type="submit" class="button main">
        {t("command.send")}
      </button>
      <span role="status">
        {fault.value !== null && <span class="status bad">{fault.value}</span>}
        {outcome.value !== null && <span class="status good">{outcome.value}</span>}
      </span>
    </form>
  );
}

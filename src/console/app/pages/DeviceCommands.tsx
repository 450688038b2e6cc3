/** Commands to a device, and what became of each. */
import { CommandForm } from "../commands/CommandForm.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { me } from "../session.js";
import type { DeviceRecord } from "./device-record.js";

const refreshMs = 1000;

export function DeviceCommands({ device }: { readonly device: Pick<DeviceRecord, "id"> }) {
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
      {mayCommand && <CommandForm target={{ kind: "device", id: String(device.id) }} />}
      <ResourceList resource={ofDevice} everyMs={refreshMs} />
    </section>
  );
}

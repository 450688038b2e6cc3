/** Files of devices and of points, in and out. */
import { t } from "../i18n.js";
import { me } from "../session.js";
import { ExportDevices } from "./ExportDevices.js";
import { ExportPoints } from "./ExportPoints.js";
import { ImportFile } from "./ImportFile.js";
import { devicesFile, pointsFile } from "./import-kinds.js";

export function Transfer() {
  const mayWrite = me.value?.rights.includes("write") === true;
  return (
    <>
      <p class="muted">{t("transfer.scope", { tenant: me.value?.tenantID ?? "" })}</p>
      <div class="columns transfers">
        {mayWrite && <ImportFile kind={pointsFile} />}
        <ExportPoints />
        {mayWrite && <ImportFile kind={devicesFile} />}
        {mayWrite && <ExportDevices />}
      </div>
    </>
  );
}

import { type ExportedDeviceRow, readDevices } from "../../../store/metadata/devices/export.js";
import { columnNames, formatCells } from "./device-columns.js";
import { formats } from "./formats.js";
import type { Cell } from "./table-file.js";
import type { ExportJob, TransferContext, TransferOutcome } from "./transfer-job.js";

/** Few, because a device's JSON fields may take a thousand times the memory of an ordinary device. */
const devicesPerRead = 100;

/** Writes the selected devices to a file, oldest first. */
export async function exportDevices(job: ExportJob, context: TransferContext): Promise<TransferOutcome> {
  const reading = readDevices(context.store, job.selection);
  const total = Math.max(1, await reading.count());
  let written = 0;

  async function* rows(): AsyncGenerator<Cell[]> {
    let last = 0;
    for (;;) {
      context.checkStop();
      const some: ExportedDeviceRow[] = await reading.after(last, devicesPerRead);
      for (const device of some) yield formatCells(device);
      last = some.at(-1)?.id ?? last;
      written += some.length;
      context.progress((written / total) * 100);
      if (some.length < devicesPerRead) return;
    }
  }
  await formats[job.format].write(job.path, columnNames, rows(), context.room);
  return { count: written, ignored: [] };
}

import type { Actor } from "../../../store/metadata/db/changes.js";
import type { DeviceStore } from "../../../store/metadata/devices/devices.js";
import type { DeviceExportRequest } from "../../../store/metadata/devices/export.js";
import type { DiskClaim } from "../../http/disk-space.js";
import type { FormatName } from "./formats.js";

/** The job of a worker thread, as plain data. */
export type TransferJob = ExportJob | ImportJob;

export interface ExportJob {
  readonly kind: "export";
  readonly selection: DeviceExportRequest;
  readonly format: FormatName;
  /** The path of the file. */
  readonly path: string;
}

export interface ImportJob {
  readonly kind: "import";
  readonly task: string;
  readonly actor: Actor;
  readonly format: FormatName;
  readonly path: string;
  /** The file in which errors are listed, if there are any. */
  readonly errorsPath: string;
}

/** What a job has done. */
export interface TransferOutcome {
  /** Devices. */
  readonly count: number;
  /** Columns of an imported file that hold values and were passed over. */
  readonly ignored: readonly string[];
}

/** What the task of an import says. */
export function importMsg({ count, ignored }: TransferOutcome) {
  return { import_success_num: count, ...(ignored.length === 0 ? {} : { ignored_columns: ignored }) };
}

/** The tools of a job in its thread. */
export interface TransferContext {
  readonly store: DeviceStore;
  /** Whether the metadata is a file of this machine. */
  readonly local: boolean;
  readonly now: () => number;
  /** 0 to 100. */
  progress(current: number): void;
  /** The disk space of the file that the job writes, from its tenant's share. Throws JobFailure if there is none. */
  readonly room: DiskClaim;
  /** Throws when the service closes. */
  checkStop(): void;
  /** Runs a write while no other write of the process runs. */
  exclusive<T>(action: () => Promise<T>): Promise<T>;
}

/** The job fails by its caller's fault; `listed` if the errors' file was written. */
export class JobFailure extends Error {
  constructor(
    message: string,
    readonly listed: boolean,
  ) {
    super(message);
    this.name = "JobFailure";
  }
}

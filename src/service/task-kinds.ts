import type { Db } from "../../store/metadata/db/db.js";
import type { DeviceStore } from "../../store/metadata/devices/devices.js";
import { bulkDevices } from "../bulk/bulk-input.js";
import { bulkKind } from "../bulk/bulk-kind.js";
import type { Commands } from "../commands/commands.js";
import { groupPublish, groupPublishKind } from "../commands/group-publish.js";
import type { Config } from "../config/config.js";
import {
  devicesExport,
  devicesExportKind,
  devicesImport,
  devicesImportKind,
} from "../import-export/devices/kinds.js";
import { type HistoryKindDeps, historyImport, historyImportKind } from "../import-export/points/kinds.js";
import { historyRedecode, type RedecodeKindDeps, redecodeKind } from "../import-export/points/redecode.js";
import type { TaskKind } from "../tasks/task-kind.js";

export interface TaskKindsDeps {
  readonly config: Config;
  readonly db: Db;
  readonly devices: DeviceStore;
  readonly commands: Commands;
  readonly history: HistoryKindDeps & RedecodeKindDeps;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Every kind of task, by the name that its row carries. */
export function taskKinds(deps: TaskKindsDeps): Readonly<Record<string, TaskKind>> {
  return {
    [groupPublish]: groupPublishKind(deps),
    [bulkDevices]: bulkKind(deps),
    [devicesExport]: devicesExportKind(deps),
    [devicesImport]: devicesImportKind(deps),
    [historyImport]: historyImportKind(deps.history),
    [historyRedecode]: redecodeKind(deps.history),
  };
}

import type { Db } from "../../store/db.js";
import type { Config } from "../config.js";
import type { Commands } from "../control/commands.js";
import { groupPublish, groupPublishKind } from "../control/group-publish.js";
import { type HistoryKindDeps, historyImport, historyImportKind } from "../history/kinds.js";
import { historyRedecode, type RedecodeKindDeps, redecodeKind } from "../history/redecode.js";
import { devicesExport, devicesExportKind, devicesImport, devicesImportKind } from "../transfer/kinds.js";
import type { TaskKind } from "./runner.js";

export interface TaskKindsDeps {
  readonly config: Config;
  readonly db: Db;
  readonly commands: Commands;
  readonly history: HistoryKindDeps & RedecodeKindDeps;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Every kind of task, by the name that its row carries. */
export function taskKinds(deps: TaskKindsDeps): Readonly<Record<string, TaskKind>> {
  return {
    [groupPublish]: groupPublishKind(deps),
    [devicesExport]: devicesExportKind(deps),
    [devicesImport]: devicesImportKind(deps),
    [historyImport]: historyImportKind(deps.history),
    [historyRedecode]: redecodeKind(deps.history),
  };
}

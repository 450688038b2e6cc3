import {
  type BulkAction,
  type BulkError,
  endBulkAction,
  nextPart,
  openBulkAction,
  storeParts,
  takePart,
  withPart,
} from "../../store/metadata/commands/bulk-actions.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Commands } from "../commands/commands.js";
import type { TaskKind } from "../tasks/task-kind.js";
import { untilServed } from "../tasks/until-served.js";
import { type ActDeps, addToGroup, block, remove, removeFromGroup } from "./acts.js";
import type { BulkAct, BulkInput } from "./bulk-input.js";
import { splitByGroup } from "./members.js";
import { type SendDeps, sendPart } from "./send.js";

const devicesPerPartDefault = 250;
/** Actions under way at once, each of another tenant. */
const actionsMax = 8;

interface BulkDeps extends ActDeps {
  readonly commands: Commands;
  /** The most devices of one part: one write, and at most this many packets at once. */
  readonly devicesPerPart?: number;
}

/** One action on many devices. Whom it is for is fixed when it begins; a restart goes on with the part that is next. */
export function bulkKind(deps: BulkDeps): TaskKind {
  const { db } = deps.devices;
  return {
    resumes: true,
    apart: actionsMax,
    run: async ({ task, signal, progress }) => {
      const input = task.input as BulkInput;
      const served: SendDeps["served"] = (work) => untilServed(signal, work);
      const sending: SendDeps = { ...deps, db, signal, served };
      let action = await served(() => openBulkAction(db, task.id));
      if (action.total === null) {
        const opened = action;
        const perPart = deps.devicesPerPart ?? devicesPerPartDefault;
        const parts = await served(() => splitByGroup(db, task.tenant, input, perPart));
        action = await served(() => storeParts(db, opened, parts));
      }
      for (;;) {
        signal.throwIfAborted();
        const now = action;
        const ids = await served(() => nextPart(db, now));
        if (ids === undefined) break;
        action =
          input.action === "command"
            ? await sendPart(sending, task, { ...input, payload: Buffer.from(input.payload) }, action, ids)
            : await served(() => actOn(deps, task, input, now, ids));
        await progress(
          ((action.done + action.failed) / Math.max(1, action.total ?? 0)) * 100,
          toTaskDetail(action),
        );
      }
      await served(() => endBulkAction(db, action));
      return { msg: toTaskDetail(action) };
    },
  };
}

const toTaskDetail = ({ total, done, failed, errors }: BulkAction) => ({ total, done, failed, errors });

type Act = Exclude<BulkAct, { readonly action: "command" }>;

async function actOn(
  deps: ActDeps,
  actor: Actor,
  act: Act,
  action: BulkAction,
  ids: readonly number[],
): Promise<BulkAction> {
  const group = "groupIntID" in act ? act.groupIntID : 0;
  const after = withPart(action, ids.length, await effects[act.action](deps, actor, ids, group));
  await takePart(deps.devices.db, action, after);
  return after;
}

type Effect = (deps: ActDeps, actor: Actor, ids: readonly number[], group: number) => Promise<BulkError[]>;

const effects: Readonly<Record<Act["action"], Effect>> = {
  block: (deps, actor, ids) => block(deps, actor, ids, 1),
  unblock: (deps, actor, ids) => block(deps, actor, ids, 0),
  addToGroup,
  removeFromGroup,
  delete: remove,
};

import { z } from "@hono/zod-openapi";
import { type ListedTask, taskStates } from "../../store/metadata/tasks.js";
import { intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { statusUrl } from "../tasks/runner.js";
import type { Stamped } from "./context.js";

/** Characters of a task's message in a list. */
export const taskMsgCharactersMax = 300;

export const listedTaskSchema = z
  .object({
    taskID: z.string(),
    statusUrl: z.string(),
    kind: z.string().openapi({ example: "devices_import" }),
    state: z.enum(taskStates),
    current: intSchema.openapi({ description: "progress, 0 to 100" }),
    msg: textOrNull.openapi({
      description: `the first ${taskMsgCharactersMax} characters of what the task says of itself; statusUrl has all of it`,
    }),
    createUser: textOrNull,
    createAt: stampText,
    endAt: stampOrNull,
  })
  .openapi("Task");

export function listedTask(task: ListedTask, { stamp }: Stamped): object {
  const { id, kind, state, current, msgStart, username, createAt, endAt } = task;
  return {
    taskID: id,
    statusUrl: statusUrl(id),
    kind,
    state,
    current,
    msg: msgStart === null ? null : shortened(msgStart),
    createUser: username,
    createAt: stamp(createAt),
    endAt: stamp(endAt),
  };
}

/** A text as it is, anything else as its JSON; `json` may be cut anywhere. */
function shortened(json: string): string | null {
  if (json === "null") return null;
  const [text] = /^"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*/i.exec(json) ?? [];
  const whole = text === undefined ? json : (JSON.parse(`${text}"`) as string);
  return whole.slice(0, taskMsgCharactersMax).toWellFormed();
}

import { t } from "../i18n.js";
import { Status, type Tone } from "../shell/Status.js";
import type { TaskState as State } from "./task.js";

const tones: Readonly<Record<State, Tone>> = {
  PENDING: "idle",
  STARTED: "warn",
  PROGRESS: "warn",
  SUCCESS: "good",
  FAILURE: "bad",
};

export function TaskState({ state }: { readonly state: State }) {
  return <Status tone={tones[state]} word={t(`state.${state}`)} />;
}

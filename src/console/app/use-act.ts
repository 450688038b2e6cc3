import { useSignal } from "@preact/signals";
import { ApiFailure } from "./api.js";
import { t } from "./i18n.js";

/** One thing at a time that a person sets off: whether it is going on, and in words why the last one has failed. */
export function useAct() {
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);

  /** What the work brings; undefined if it has failed, or another one goes on. */
  async function act<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (isBusy.value) return undefined;
    isBusy.value = true;
    failure.value = null;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      failure.value =
        error.status === 0
          ? t("state.away")
          : [error.message, ...Object.entries(error.fields).map((one) => one.join(" "))].join("; ");
      return undefined;
    } finally {
      isBusy.value = false;
    }
  }

  return { act, failure: failure.value, isBusy: isBusy.value };
}

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { t } from "../i18n.js";
import { linkState } from "../live/link.js";
import { Status } from "./Status.js";

/** A service that is back within this time shows no notice. */
const graceMs = 1_000;
const backMs = 4_000;

/** On every page: that the service is away, and then that it is back. */
export function Away() {
  const shown = useSignal<"nothing" | "away" | "back">("nothing");
  const isAway = useComputed(() => linkState.value === "away");
  useSignalEffect(() => {
    const was = shown.peek();
    if (!isAway.value && was === "nothing") return;
    if (!isAway.value) shown.value = "back";
    const timer = setTimeout(
      () => {
        shown.value = isAway.peek() ? "away" : "nothing";
      },
      isAway.value ? graceMs : backMs,
    );
    return () => clearTimeout(timer);
  });
  return (
    <div role="status" aria-live="polite">
      {shown.value !== "nothing" && (
        <p class={shown.value === "away" ? "banner" : "banner over"}>
          {shown.value === "away" ? (
            <Status tone="warn" word={t("state.away")} />
          ) : (
            <Status tone="good" word={t("state.back")} />
          )}
        </p>
      )}
    </div>
  );
}

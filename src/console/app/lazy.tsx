/** Parts that are loaded when they are first needed. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { t } from "./i18n.js";

/** Shows nothing until the part has come, which takes a moment at most; or why it has not. */
export function lazily<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  const isFailed = signal(false);
  let isAsked = false;
  function ask(): void {
    isAsked = true;
    isFailed.value = false;
    load().then(
      (found) => {
        loaded.value = found;
      },
      () => {
        isFailed.value = true;
      },
    );
  }
  return function Lazy(props: Props) {
    if (!isAsked) ask();
    const Part = loaded.value;
    if (Part !== null) return <Part {...props} />;
    if (!isFailed.value) return <p class="muted" aria-busy="true" />;
    return (
      <p class="notice bad" role="alert">
        {t("state.away")}{" "}
        <button type="button" class="button" onClick={ask}>
          {t("state.retry")}
        </button>
      </p>
    );
  };
}

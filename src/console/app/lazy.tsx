/** Parts that are loaded when they are first needed. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { t } from "./i18n.js";

export type LazyPart<Props extends object> = ComponentType<Props> & {
  /** Has it loaded before it is shown. */
  preload(): void;
};

/** Shows nothing until the part has come, which takes a moment at most; or why it has not. */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): LazyPart<Props> {
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
  function preload(): void {
    if (!isAsked) ask();
  }
  function Lazy(props: Props) {
    preload();
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
  }
  return Object.assign(Lazy, { preload });
}

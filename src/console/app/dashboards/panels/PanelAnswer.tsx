import type { ComponentChildren } from "preact";
import type { Asked } from "../../ask.js";
import { t } from "../../i18n.js";

interface PanelAnswerProps<T> {
  readonly asked: Asked<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** What came of a panel's question, in the room that it has: the last answer stays while there is no newer one. */
export function PanelAnswer<T>({
  asked: { data, failure, isLoading, again },
  children,
}: PanelAnswerProps<T>) {
  return (
    <>
      {failure !== null && (
        <p class={`notice small ${failure.isTransient ? "warn" : "bad"}`} role="alert">
          {failure.status === 0
            ? t("state.away")
            : [failure.message, ...Object.values(failure.fields)].join(": ")}{" "}
          <button type="button" class="button quiet" onClick={again}>
            {t("state.retry")}
          </button>
        </p>
      )}
      {data !== undefined && children(data)}
      {data === undefined && failure === null && isLoading && (
        <p class="muted" aria-busy="true">
          {t("state.loading")}
        </p>
      )}
    </>
  );
}

/** One record, searched for and given to another. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../i18n.js";
import { ReferenceInput } from "./ReferenceInput.js";
import type { Reference } from "./resources.js";

interface ChoosingProps {
  /** The kind of records to choose from, in words. */
  readonly what: string;
  readonly from: Reference;
  readonly within: Readonly<Record<string, string>>;
  readonly isBusy: boolean;
  readonly className: string;
  /** Whether it could be given. */
  onChosen(id: number): Promise<boolean>;
  /** Stands beside it in the same line. */
  readonly children?: ComponentChildren;
}

export function Choosing({ what, from, within, isBusy, className, onChosen, children }: ChoosingProps) {
  const wanted = useSignal("");
  const words = t("bind.search", { what });
  return (
    <form
      class={className}
      onSubmit={async (event) => {
        event.preventDefault();
        if (await onChosen(Number(wanted.value))) wanted.value = "";
      }}
    >
      <span class="pick-one">
        <ReferenceInput
          shared={{ class: "input", "aria-label": words, placeholder: words }}
          text={wanted.value}
          reference={from}
          within={within}
          onText={(text) => {
            wanted.value = text;
          }}
        />
      </span>
      <button type="submit" class="button main" disabled={!/^\d+$/.test(wanted.value) || isBusy}>
        {t("bind.give")}
      </button>
      {children}
    </form>
  );
}

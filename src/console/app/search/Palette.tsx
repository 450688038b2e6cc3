/** Search and act: records by their names as the service finds them, pages and actions by their words, all by keys. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure } from "../api.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { goTo } from "../router.js";
import { Dialog } from "../shell/Dialog.js";
import { Icon, type IconName } from "../shell/icons.js";
import { actionsNow, matching } from "./actions.js";
import { findHits, type Hit, hrefOfHit, iconOf } from "./hits.js";
import { closeOverlay } from "./open.js";

interface Option {
  readonly key: string;
  readonly icon: IconName;
  readonly text: string;
  readonly detail: string | null;
  readonly kind: string;
  choose(): void | Promise<void>;
}

/** Typing has stopped when nothing was typed for so long. */
const settledMs = 80;
/** Actions shown beside what was found. */
const actionsMax = 4;

export function Palette() {
  const typed = useSignal("");
  const failure = useSignal<string | null>(null);
  /** Enter was pressed before the answer came: it means the first of it. */
  const isEager = useSignal(false);
  const active = useSignal<string | null>(null);
  const text = typed.value.trim();
  const settled = useSettled(text);
  const found = useQuery(`search ${settled}`, async (signal) => ({
    text: settled,
    hits: await findHits(settled, signal),
  }));
  const isAnswered = found.data?.text === text || found.failure !== null;
  const options = listOptions(text, found.data?.hits ?? [], choose);
  const at = Math.max(
    0,
    options.findIndex(({ key }) => key === active.value),
  );
  const list = useRef<HTMLDivElement>(null);

  async function choose(action: () => void | Promise<void>): Promise<void> {
    failure.value = null;
    try {
      await action();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      failure.value = error.message;
    }
  }

  useEffect(() => {
    if (!isEager.value || !isAnswered) return;
    isEager.value = false;
    void options[0]?.choose();
  }, [isAnswered, text]);

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at, options.length]);

  function onKeyDown(event: KeyboardEvent): void {
    // Enter and arrows that choose a word of an input method are the method's own.
    if (event.isComposing) return;
    const step = steps[event.key]?.(at, options.length);
    if (step !== undefined) {
      event.preventDefault();
      active.value = options[step]?.key ?? null;
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (active.value === null && !isAnswered) isEager.value = true;
      else void options[at]?.choose();
    }
  }

  const fault = failure.value ?? found.failure?.message ?? null;
  return (
    <Dialog name={t("search.title")} class="palette" onClose={closeOverlay}>
      <div class="row asked">
        <Icon name="search" />
        <input
          class="input"
          role="combobox"
          type="text"
          autocomplete="off"
          spellcheck={false}
          maxLength={100}
          aria-label={t("search.title")}
          aria-expanded="true"
          aria-controls="search-options"
          aria-autocomplete="list"
          aria-activedescendant={options.length === 0 ? undefined : `search-option-${at}`}
          placeholder={t("search.hint")}
          value={typed.value}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
            active.value = null;
            isEager.value = false;
          }}
        />
      </div>
      <div class="options" role="listbox" id="search-options" aria-label={t("search.title")} ref={list}>
        {options.map(({ key, icon, text: name, detail, kind, choose: chosen }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are taken by the combobox, which has the focus
          // biome-ignore lint/a11y/useFocusableInteractive: the same
          <div
            key={key}
            id={`search-option-${i}`}
            role="option"
            aria-selected={i === at}
            onMouseMove={() => {
              active.value = key;
            }}
            onClick={() => void chosen()}
          >
            <Icon name={icon} />
            <span class="cut">{name}</span>
            <span class="cut muted">{detail}</span>
            <span class="muted kind">{kind}</span>
          </div>
        ))}
      </div>
      <p class={`told ${fault === null ? "muted" : "status bad"}`} role="status">
        {fault ??
          (text !== "" && isAnswered
            ? options.length === 0
              ? t("search.nothing")
              : t("search.found", { count: options.length })
            : "")}
      </p>
    </Dialog>
  );
}

const steps: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % Math.max(1, count),
  ArrowUp: (at, count) => (at - 1 + count) % Math.max(1, count),
};

function listOptions(
  text: string,
  hits: readonly Hit[],
  choose: (action: () => void | Promise<void>) => Promise<void>,
): readonly Option[] {
  const actions = matching(actionsNow(), text).map(
    ({ key, icon, text: name, kind, to }): Option => ({
      ...{ key, icon, detail: null, text: name },
      kind: t(`search.${kind}`),
      choose: () =>
        choose(() => {
          closeOverlay();
          if (typeof to === "string") goTo(to);
          else to();
        }),
    }),
  );
  if (text === "") return actions;
  const found = hits.map(
    (hit): Option => ({
      key: `${hit.type} ${hit.id}`,
      icon: iconOf[hit.type],
      text: hit.name,
      detail: hit.detail,
      kind: t(`hit.${hit.type}`),
      choose: () =>
        choose(async () => {
          const to = await hrefOfHit(hit);
          closeOverlay();
          goTo(to);
        }),
    }),
  );
  const begins = ({ text: name }: Option): boolean => name.toLowerCase().startsWith(text.toLowerCase());
  const shown = actions.slice(0, actionsMax);
  return [...shown.filter(begins), ...found, ...shown.filter((one) => !begins(one))];
}

/** The typed text, once typing has stopped for a moment. */
function useSettled(text: string): string {
  const settled = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      settled.value = text;
    }, settledMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled.value;
}

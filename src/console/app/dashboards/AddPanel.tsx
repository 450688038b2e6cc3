/** A button that opens the kinds of panels. A list that chooses by what is typed would add one with each letter. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n.js";
import type { Panel } from "./document.js";

const types: readonly Panel["type"][] = ["chart", "value", "table", "map", "alerts", "command", "text"];

export function AddPanel({ onAdd }: { onAdd(type: Panel["type"]): void }) {
  const isOpen = useSignal(false);
  const place = useRef<HTMLDivElement>(null);
  const buttons = (): HTMLButtonElement[] => [...(place.current?.querySelectorAll("button") ?? [])];

  function close(): void {
    isOpen.value = false;
    buttons()[0]?.focus();
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Escape" && isOpen.value) return close();
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    if (!isOpen.value) {
      isOpen.value = true;
      return;
    }
    const all = buttons();
    all[all.indexOf(document.activeElement as HTMLButtonElement) + by]?.focus();
  }

  useEffect(() => {
    if (!isOpen.value) return;
    const onDown = (event: PointerEvent): void => {
      if (place.current?.contains(event.target as Node) === false) isOpen.value = false;
    };
    document.addEventListener("pointerdown", onDown);
    return () => document.removeEventListener("pointerdown", onDown);
  }, [isOpen.value]);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the buttons in it
    <div
      class="adding"
      ref={place}
      onKeyDown={onKeyDown}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget !== null && place.current?.contains(relatedTarget as Node) === false)
          isOpen.value = false;
      }}
    >
      <button
        type="button"
        class="button"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {t("board.add")}
      </button>
      {isOpen.value && (
        <div class="choices">
          {types.map((type) => (
            <button
              key={type}
              type="button"
              class="button quiet"
              onClick={() => {
                close();
                onAdd(type);
              }}
            >
              {t(`panel.${type}`)}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

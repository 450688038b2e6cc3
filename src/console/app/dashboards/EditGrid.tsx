/** The grid while it is edited: panels are dragged by their heads, made larger at their corner, or both by the arrow keys. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { isSmallScreen } from "../small-screen.js";
import type { Board } from "./context.js";
import type { Panel } from "./document.js";
import { gridPlace } from "./Grid.js";
import { type Box, columns, compacted, placed } from "./layout.js";
import { PanelFrame } from "./PanelFrame.js";

interface EditGridProps {
  readonly panels: readonly Panel[];
  readonly board: Board;
  /** The id of the panel whose form is open. */
  readonly openID: string | null;
  onPanels(change: (panels: readonly Panel[]) => readonly Panel[]): void;
  onOpen(id: string): void;
  onRemove(id: string): void;
  onCopy(id: string): void;
}

type Kind = "move" | "size";

interface Drag {
  readonly id: string;
  readonly kind: Kind;
  readonly box: Box;
  readonly x: number;
  readonly y: number;
}

/** As the style sheet has them. */
export const [rowPixels, gapPixels] = [40, 12] as const;

const steps: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function EditGrid({ panels, board, openID, onPanels, onOpen, onRemove, onCopy }: EditGridProps) {
  const grid = useRef<HTMLDivElement>(null);
  const drag = useSignal<Drag | null>(null);
  /** How the panels stand while one is dragged. */
  const shown = useSignal<readonly Panel[] | null>(null);

  function begin(panel: Panel, kind: Kind) {
    return (event: PointerEvent): void => {
      if (event.button !== 0 || (event.target as Element).closest("button, a, input, select") !== null)
        return;
      event.preventDefault();
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      drag.value = { id: panel.id, kind, box: panel.layout, x: event.clientX, y: event.clientY };
    };
  }

  function move(event: PointerEvent): void {
    const now = drag.value;
    const width = grid.current?.clientWidth;
    if (now === null || width === undefined) return;
    const byX = (event.clientX - now.x) / ((width + gapPixels) / columns);
    const byY = (event.clientY - now.y) / (rowPixels + gapPixels);
    shown.value = placed(panels, now.id, changed(now.box, now.kind, byX, byY));
  }

  function end(): void {
    const dropped = shown.value;
    if (dropped !== null) onPanels(() => dropped);
    cancel();
  }

  /** The browser has taken the pointer for something else: nothing has been dragged. */
  function cancel(): void {
    drag.value = null;
    shown.value = null;
  }

  function onKey(panel: Panel) {
    return (event: KeyboardEvent): void => {
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      onPanels((all) => {
        // A key that is held repeats faster than it is drawn.
        const box = all.find(({ id }) => id === panel.id)?.layout ?? panel.layout;
        return placed(all, panel.id, changed(box, event.shiftKey ? "size" : "move", ...step));
      });
    };
  }

  return (
    <div class="board editing" ref={grid} onPointerMove={move} onPointerUp={end} onPointerCancel={cancel}>
      {(shown.value ?? compacted(panels)).map((panel) => (
        <div
          key={panel.id}
          class={`editable${panel.id === openID ? " open" : ""}${panel.id === drag.value?.id ? " dragged" : ""}`}
          style={
            isSmallScreen.value
              ? { gridColumn: "1 / -1", gridRow: `span ${panel.layout.h}` }
              : gridPlace(panel)
          }
          onPointerDown={(event) => {
            const isHead = (event.target as Element).closest(".panel > header") !== null;
            if (isHead) begin(panel, "move")(event);
          }}
        >
          <PanelFrame
            panel={panel}
            board={board}
            tools={
              <span class="row menu">
                <button
                  type="button"
                  class="button quiet"
                  aria-label={t("board.move", { panel: namePanel(panel) })}
                  title={t("board.moveHint")}
                  onKeyDown={onKey(panel)}
                >
                  ✥
                </button>
                {(
                  [
                    ["✎", "action.edit", onOpen],
                    ["⧉", "board.copy", onCopy],
                    ["✕", "action.delete", onRemove],
                  ] as const
                ).map(([sign, text, act]) => (
                  <button
                    key={text}
                    type="button"
                    class="button quiet"
                    aria-label={`${t(text)}: ${namePanel(panel)}`}
                    title={t(text)}
                    onClick={() => act(panel.id)}
                  >
                    {sign}
                  </button>
                ))}
              </span>
            }
          />
          <span class="corner" aria-hidden="true" onPointerDown={begin(panel, "size")} />
        </div>
      ))}
    </div>
  );
}

const namePanel = ({ title, id }: Panel): string => (title === "" ? id : title);

function changed(box: Box, kind: Kind, byX: number, byY: number): Box {
  return kind === "move"
    ? { ...box, x: box.x + byX, y: box.y + byY }
    : { ...box, w: Math.min(box.w + byX, columns - box.x), h: box.h + byY };
}

/** The panels of a dashboard on their grid; on narrow screens one below the other, two values a row. */
import { signal } from "@preact/signals";
import type { Board } from "./context.js";
import type { Panel } from "./document.js";
import { compacted, phoneOrder } from "./layout.js";
import { PanelFrame } from "./PanelFrame.js";

const narrow = matchMedia("(max-width: 719px)");
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});

interface GridProps {
  readonly panels: readonly Panel[];
  readonly board: Board;
}

export function Grid({ panels, board }: GridProps) {
  const isPhone = isNarrow.value;
  return (
    <div class="board">
      {(isPhone ? phoneOrder(panels) : compacted(panels)).map((panel) => (
        <div key={panel.id} style={isPhone ? phonePlace(panel) : placeOf(panel)}>
          <PanelFrame panel={panel} board={board} />
        </div>
      ))}
    </div>
  );
}

export function placeOf({ layout: { x, y, w, h } }: Pick<Panel, "layout">) {
  return { gridColumn: `${x + 1} / span ${w}`, gridRow: `${y + 1} / span ${h}` };
}

function phonePlace({ type, phone, layout }: Panel) {
  return { gridColumn: type === "value" ? "span 1" : "span 2", gridRow: `span ${phone?.h ?? layout.h}` };
}

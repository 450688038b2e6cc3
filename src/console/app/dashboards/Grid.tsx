/** The panels of a dashboard on their grid; on small screens one below the other, two values a row. */
import { isSmallScreen } from "../small-screen.js";
import type { Board } from "./context.js";
import type { Panel } from "./document.js";
import { compacted, phoneOrder } from "./layout.js";
import { PanelFrame } from "./PanelFrame.js";

interface GridProps {
  readonly panels: readonly Panel[];
  readonly board: Board;
}

export function Grid({ panels, board }: GridProps) {
  const isPhone = isSmallScreen.value;
  return (
    <div class="board">
      {(isPhone ? phoneOrder(panels) : compacted(panels)).map((panel) => (
        <div
          key={panel.id}
          class={isPhone && isHalf(panel) ? "half" : undefined}
          style={isPhone ? phonePlace(panel) : gridPlace(panel)}
        >
          <PanelFrame panel={panel} board={board} />
        </div>
      ))}
    </div>
  );
}

export function gridPlace({ layout: { x, y, w, h } }: Pick<Panel, "layout">) {
  return { gridColumn: `${x + 1} / span ${w}`, gridRow: `${y + 1} / span ${h}` };
}

const isHalf = ({ type }: Panel): boolean => type === "value";

function phonePlace(panel: Panel) {
  const { phone, layout } = panel;
  return { gridColumn: isHalf(panel) ? "span 1" : "span 2", gridRow: `span ${phone?.h ?? layout.h}` };
}

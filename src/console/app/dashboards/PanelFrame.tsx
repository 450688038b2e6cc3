/** The frame of a panel: its title, its actions, and the area for its content. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { type Board, boardWithNews } from "./context.js";
import type { Panel } from "./document.js";
import { PanelMenu } from "./PanelMenu.js";
import { PanelBody } from "./panels/PanelBody.js";
import { filledIn } from "./targets.js";
import { useSize } from "./use-size.js";
import { useVisible } from "./use-visible.js";

interface PanelFrameProps {
  readonly panel: Panel;
  readonly board: Board;
  /** What stands in the head while it is edited; absent: it is only looked at. */
  readonly tools?: ComponentChildren;
}

export function PanelFrame({ panel, board: whole, tools }: PanelFrameProps) {
  const board = boardWithNews(whole, panel.id);
  const place = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const isVisible = useVisible(place);
  const { width, height } = useSize(body);
  const isWhole = useSignal(false);
  const title = filledIn(panel.title, board.variables, board.chosen);
  return (
    <section
      ref={place}
      class={isWhole.value ? "panel whole" : "panel"}
      aria-label={title === "" ? panel.id : title}
      onKeyDown={(event) => {
        if (event.key === "Escape") isWhole.value = false;
      }}
    >
      <header>
        <h2 class="cut" title={title}>
          {title}
        </h2>
        {tools ?? (
          <span class="row menu">
            <PanelMenu panel={panel} board={board} title={title} />
            {panel.type !== "command" && (
              <button
                type="button"
                class="button quiet"
                aria-pressed={isWhole.value}
                aria-label={t("board.whole")}
                title={t("board.whole")}
                onClick={() => {
                  isWhole.value = !isWhole.value;
                }}
              >
                ⤢
              </button>
            )}
          </span>
        )}
      </header>
      <div class="body" ref={body}>
        {width > 0 && (
          <PanelBody panel={panel} board={board} width={width} height={height} isVisible={isVisible} />
        )}
      </div>
    </section>
  );
}

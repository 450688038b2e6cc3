/** What all panels of a dashboard share while it is shown. */

import type { LatePoints } from "../charts/late-points.js";
import type { Variable } from "./document.js";
import type { PanelSource } from "./source.js";
import type { Chosen } from "./targets.js";

export interface Board {
  readonly source: PanelSource;
  readonly variables: readonly Variable[];
  readonly chosen: Chosen;
  readonly zone: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  /** Ranges of panels about which there was news: they reach until then. */
  readonly news: ReadonlyMap<string, { readonly from: number; readonly to: number }>;
  /** The late points since it is shown. */
  readonly late: LatePoints;
  /** Asked again for the same query: a refresh by hand. */
  readonly round: number;
  onRange(from: number, to: number): void;
}

export interface PanelProps<P> {
  readonly panel: P;
  readonly board: Board;
  /** Pixels that are free for what it shows. */
  readonly width: number;
  readonly height: number;
  /** Somebody can see it. */
  readonly isVisible: boolean;
}

/** The dashboard as one of its panels sees it. */
export const boardWithNews = (board: Board, panelID: string): Board => ({
  ...board,
  ...board.news.get(panelID),
});

import { lazily } from "../../lazy.js";
import type { PanelProps } from "../context.js";
import type { TextPanel as Text } from "../document.js";
import { filledIn } from "../targets.js";

const Markdown = lazily(async () => (await import("./Markdown.js")).Markdown);

export function TextPanel({ panel, board }: PanelProps<Text>) {
  const text = filledIn(panel.markdown, board.variables, board.chosen);
  return <Markdown text={text} isOwn={board.source.isOwn} />;
}

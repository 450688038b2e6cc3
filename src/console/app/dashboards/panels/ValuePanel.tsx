import { numberText } from "../../charts/numbers.js";
import { wallText } from "../../charts/zone.js";
import { t } from "../../i18n.js";
import { Sparkline } from "../../pages/Sparkline.js";
import { QueryResult } from "../../query.js";
import { Status } from "../../shell/Status.js";
import type { PanelProps } from "../context.js";
import type { SeriesPanel } from "../document.js";
import { createPanelLines, nameLine, type PanelLine } from "../panel-lines.js";
import type { Item, PointFacts, SeriesAnswer } from "../source.js";
import { useSeries } from "../use-series.js";

/** Enough for the small line below a value. */
const maxPoints = 200;

export function ValuePanel({ panel, board, isVisible }: PanelProps<SeriesPanel>) {
  const asked = useSeries(panel, board, { size: { maxPoints }, isVisible });
  return (
    <QueryResult isPart asked={asked}>
      {({ now, earlier }) => {
        const lines = createPanelLines(panel, now);
        const before = earlier === null ? [] : createPanelLines(panel, earlier.answer);
        const texts = formatNewest(panel, now);
        if (lines.length + texts.length === 0) return <p class="muted empty">{t("explore.noPoints")}</p>;
        return (
          <dl class="values-panel">
            {lines.map((line, i) => (
              <Value
                key={`${line.series} ${line.name}`}
                line={line}
                facts={panel.limits === true ? (now.points[line.series] ?? null) : null}
                before={findNewestValue(before[i])}
                compare={panel.compare ?? ""}
                zone={board.zone}
              />
            ))}
            {texts.map(({ name, text, time }) => (
              <div key={name}>
                <dt class="muted cut">{name}</dt>
                <dd class="big cut" title={text}>
                  {text}
                </dd>
                <dd class="muted mono">{wallText(board.zone, time)}</dd>
              </div>
            ))}
          </dl>
        );
      }}
    </QueryResult>
  );
}

function findNewestValue(line: PanelLine | undefined): number | null {
  return line?.values.findLast((value) => value !== null) ?? null;
}

interface ValueProps {
  readonly line: PanelLine;
  /** Null: limits are of no interest. */
  readonly facts: PointFacts | null;
  readonly before: number | null;
  readonly compare: string;
  readonly zone: string;
}

function Value({ line, facts, before, compare, zone }: ValueProps) {
  const value = findNewestValue(line);
  const time = line.times.at(-1);
  const isOver = value !== null && facts?.upperLimit != null && value > facts.upperLimit;
  const isUnder = value !== null && facts?.lowerLimit != null && value < facts.lowerLimit;
  return (
    <div>
      <dt class="muted cut">{line.name}</dt>
      <dd>
        <span class="big">{numberText(value)}</span> {line.unit}
        {value !== null && before !== null && (
          <span class="muted delta">
            {" "}
            {value >= before ? "+" : "−"}
            {numberText(Math.abs(value - before))} ({compare})
          </span>
        )}
      </dd>
      {(isOver || isUnder) && (
        <dd>
          <Status tone="warn" word={t(isOver ? "board.over" : "board.under")} />
        </dd>
      )}
      <dd>
        <Sparkline values={line.values} color={line.color} label={line.name} />
      </dd>
      <dd class="muted mono">{time === undefined ? "" : wallText(zone, time)}</dd>
    </div>
  );
}

interface NewestText {
  readonly name: string;
  readonly text: string;
  readonly time: number;
}

/** Data points that are texts, places or the like have a newest value too. */
function formatNewest(panel: SeriesPanel, { series }: SeriesAnswer): NewestText[] {
  return series.flatMap((items, i) =>
    items.flatMap((item: Item) => {
      if (!("originalData" in item)) return [];
      const { time, value } = item.originalData;
      const [at, newest] = [time.at(-1), value.at(-1)];
      if (at === undefined || typeof newest === "number" || typeof newest === "boolean" || newest == null)
        return [];
      const { label, deviceID } = panel.series[i] ?? {};
      const text = typeof newest === "string" ? newest : JSON.stringify(newest);
      return [{ name: nameLine(item, label, deviceID ?? null), text, time: at }];
    }),
  );
}

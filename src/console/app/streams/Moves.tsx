import { t } from "../i18n.js";
import type { Row } from "../resources/resources.js";

/** What becomes of the record ids of a stream's data points. */
export type Change = (ids: readonly number[]) => readonly number[];

interface MovesProps {
  readonly row: Row;
  readonly order: readonly number[];
  readonly isBusy: boolean;
  onMove(change: Change): void;
}

/** One place up or down. */
export function Moves({ row: { id, dataPointName }, order, isBusy, onMove }: MovesProps) {
  const at = order.indexOf(id);
  const moved = (ids: readonly number[], by: -1 | 1): readonly number[] => {
    if (!ids.includes(id)) return ids;
    const others = ids.filter((one) => one !== id);
    const to = Math.max(0, ids.indexOf(id) + by);
    return [...others.slice(0, to), id, ...others.slice(to)];
  };
  const button = (by: -1 | 1, sign: string, text: string, isEnd: boolean) => (
    <button
      type="button"
      class="button quiet"
      aria-label={text}
      title={text}
      disabled={isBusy || at < 0 || isEnd}
      onClick={() => onMove((ids) => moved(ids, by))}
    >
      {sign}
    </button>
  );
  const name = String(dataPointName);
  return (
    <>
      {button(-1, "↑", t("stream.up", { name }), at === 0)}
      {button(1, "↓", t("stream.down", { name }), at === order.length - 1)}
    </>
  );
}

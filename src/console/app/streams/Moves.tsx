import { t } from "../i18n.js";
import type { Row } from "../resources/resources.js";

interface MovesProps {
  readonly row: Row;
  readonly order: readonly number[];
  readonly isBusy: boolean;
  onOrder(order: readonly number[]): void;
}

/** One place up or down. */
export function Moves({ row, order, isBusy, onOrder }: MovesProps) {
  const at = order.indexOf(row.id);
  const move = (by: -1 | 1): void => {
    const others = order.filter((one) => one !== row.id);
    onOrder([...others.slice(0, at + by), row.id, ...others.slice(at + by)]);
  };
  const button = (by: -1 | 1, sign: string, text: string, isEnd: boolean) => (
    <button
      type="button"
      class="button quiet"
      aria-label={text}
      title={text}
      disabled={isBusy || at < 0 || isEnd}
      onClick={() => move(by)}
    >
      {sign}
    </button>
  );
  const name = String(row.dataPointName);
  return (
    <>
      {button(-1, "↑", t("stream.up", { name }), at === 0)}
      {button(1, "↓", t("stream.down", { name }), at === order.length - 1)}
    </>
  );
}

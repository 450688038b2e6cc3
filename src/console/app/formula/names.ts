/** Names that a formula may use: the data points of the product of the one that it is about. */
import { call, type Page } from "../api.js";
import { useQuery } from "../query.js";

export interface FormulaPoint {
  readonly id: number;
  readonly dataPointID: string;
  readonly dataPointName: string;
  readonly productID: string;
  readonly unitSymbol: string | null;
  readonly lowerLimit: number | null;
  readonly upperLimit: number | null;
}

export interface FormulaScope {
  readonly point: FormulaPoint;
  readonly others: readonly FormulaPoint[];
}

const recordsMax = 1000;
/** Others cannot be written in a formula, where `-` and `.` mean something else. */
const isName = ({ dataPointID }: FormulaPoint): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(dataPointID);

/** @param dataPointIntID as it is typed; null where it names no data point yet */
export function useFormulaScope(dataPointIntID: string): FormulaScope | null {
  const asked = useQuery(`formula point ${dataPointIntID}`, async (signal): Promise<FormulaScope | null> => {
    if (!/^[1-9]\d{0,14}$/.test(dataPointIntID)) return null;
    const point = await call<FormulaPoint>("GET", `/data_points/${dataPointIntID}`, { signal });
    const { items } = await call<Page<FormulaPoint>>("GET", "/data_points", {
      query: { productID: point.productID, _limit: recordsMax },
      signal,
    });
    return { point, others: items.filter((one) => one.id !== point.id && isName(one)) };
  });
  return String(asked.data?.point.id) === dataPointIntID ? (asked.data ?? null) : null;
}

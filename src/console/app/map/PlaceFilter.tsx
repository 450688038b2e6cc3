/** Restricts a map to the devices of one product or group. */
import { call, type Page } from "../api.js";
import { useQuery } from "../query.js";

interface PlaceFilterProps {
  readonly path: string;
  /** The field that names a record. */
  readonly label: string;
  readonly all: string;
  readonly value: string;
  onChoice(value: string | undefined): void;
}

type Named = Readonly<Record<string, unknown>> & { readonly id: number };

const choicesMax = 100;

export function PlaceFilter({ path, label, all, value, onChoice }: PlaceFilterProps) {
  const asked = useQuery(path, (signal) =>
    call<Page<Named>>("GET", path, { query: { _limit: choicesMax }, signal }),
  );
  const records = asked.data?.items ?? [];
  return (
    <select
      class="input choice"
      aria-label={all}
      value={value}
      onChange={(event) => onChoice(event.currentTarget.value || undefined)}
    >
      <option value="">{all}</option>
      {value !== "" && !records.some(({ id }) => String(id) === value) && (
        <option value={value}>{value}</option>
      )}
      {records.map((record) => (
        <option key={record.id} value={record.id}>
          {String(record[label])}
        </option>
      ))}
    </select>
  );
}

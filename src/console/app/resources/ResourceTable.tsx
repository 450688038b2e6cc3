/** Rows of a resource, some of which may be chosen. */
import { wordOf } from "../codes.js";
import { language, t } from "../i18n.js";
import { hrefOf } from "../router.js";
import { Moment } from "../shown.js";
import { fieldNames } from "../texts/fields.js";
import type { Resource, Row } from "./resources.js";

interface ResourceTableProps {
  readonly resource: Pick<Resource, "columns" | "page">;
  readonly items: readonly Row[];
  /** Null: nothing can be chosen. */
  readonly chosen: ReadonlySet<number> | null;
  onChosen(ids: ReadonlySet<number>): void;
  /** Absent: nothing can be edited. */
  readonly onEdit?: (row: Row) => void;
}

export function ResourceTable({ resource, items, chosen, onChosen, onEdit }: ResourceTableProps) {
  const { columns, page } = resource;
  const name = fieldNames(language.value);

  function choose(id: number, isOn: boolean): void {
    const next = new Set(chosen);
    if (isOn) next.add(id);
    else next.delete(id);
    onChosen(next);
  }

  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            {chosen !== null && (
              <th class="pick">
                <input
                  type="checkbox"
                  aria-label={t("list.all")}
                  checked={items.length > 0 && items.every(({ id }) => chosen.has(id))}
                  onChange={(event) =>
                    onChosen(new Set(event.currentTarget.checked ? items.map(({ id }) => id) : []))
                  }
                />
              </th>
            )}
            {columns.map((column) => (
              <th key={column}>{name(column)}</th>
            ))}
            {onEdit !== undefined && (
              <th>
                <span class="unseen">{t("action.edit")}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {items.map((row) => (
            <tr key={row.id}>
              {chosen !== null && (
                <td class="pick">
                  <input
                    type="checkbox"
                    aria-label={String(row[columns[0] ?? "id"] ?? row.id)}
                    checked={chosen.has(row.id)}
                    onChange={(event) => choose(row.id, event.currentTarget.checked)}
                  />
                </td>
              )}
              {columns.map((column, i) => (
                <td key={column}>
                  {i === 0 && page !== undefined ? (
                    <a href={hrefOf(page(row))}>
                      <Cell field={column} value={row[column]} />
                    </a>
                  ) : (
                    <Cell field={column} value={row[column]} />
                  )}
                </td>
              ))}
              {onEdit !== undefined && (
                <td class="act">
                  <button type="button" class="button quiet" onClick={() => onEdit(row)}>
                    {t("action.edit")}
                  </button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const asCode: ReadonlySet<string> = new Set([
  "payload",
  "topic",
  "condition",
  "deviceID",
  "productID",
  "appID",
]);

/** Fields that are stamps: `createAt`, `startTime`, `lastSeen`. */
const isMoment = /(At|Time|^at|Seen)$/;
/** Durations are smaller: this is in 1970. */
const longAgo = 10_000_000_000;

/** One value: codes by their words, long texts on one line, a dash where there is nothing. */
function Cell({ field, value }: { readonly field: string; readonly value: unknown }) {
  if (value === null || value === undefined || value === "") return <span class="muted">–</span>;
  if (typeof value === "object") return <code class="line">{JSON.stringify(value)}</code>;
  if (typeof value === "number" && isMoment.test(field) && value > longAgo) return <Moment at={value} />;
  if (typeof value === "number") return <>{wordOf(field, value)}</>;
  const text = String(value);
  if (asCode.has(field)) {
    return (
      <code class="line" title={text}>
        {text}
      </code>
    );
  }
  return (
    <span class="line" title={text}>
      {text}
    </span>
  );
}

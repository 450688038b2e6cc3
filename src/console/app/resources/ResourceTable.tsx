/** Rows of a resource, some of which may be chosen. */
import type { ComponentChildren } from "preact";
import { language, t } from "../i18n.js";
import { formatHref } from "../router.js";
import { Scroll } from "../shell/Scroll.js";
import { fieldNames } from "../texts/fields.js";
import { Cell, isNothing } from "./Cell.js";
import type { Resource, Row } from "./resources.js";

interface ResourceTableProps {
  readonly resource: Pick<Resource, "title" | "columns" | "page" | "links" | "shown">;
  readonly items: readonly Row[];
  /** Null: nothing can be chosen. */
  readonly chosen: ReadonlySet<number> | null;
  onChosen(ids: ReadonlySet<number>): void;
  /** Absent: nothing can be edited. */
  readonly onEdit?: (row: Row) => void;
  /** What else can be done with a row. */
  readonly more?: (row: Row) => ComponentChildren;
}

export function ResourceTable({ resource, items, chosen, onChosen, onEdit, more }: ResourceTableProps) {
  const { columns } = resource;
  const name = fieldNames(language.value);

  const titles: Readonly<Record<string, string>> = { startTime: t("list.chart") };

  function choose(id: number, isOn: boolean): void {
    const next = new Set(chosen);
    if (isOn) next.add(id);
    else next.delete(id);
    onChosen(next);
  }

  return (
    <Scroll name={t(resource.title)}>
      <table class="table records">
        <thead>
          <tr>
            {chosen !== null && (
              <th class="pick" data-name={t("list.all")}>
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
              <th key={column} class={columnClass(column)}>
                {name(columnHead(resource, column))}
              </th>
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
              {columns.map((column, i) => {
                const value = resource.shown?.[column]?.(row) ?? row[column];
                return (
                  <td
                    key={column}
                    class={`${columnClass(column)} ${i > 0 && isNothing(value) ? "nothing" : ""}`}
                    data-name={i === 0 ? undefined : name(columnHead(resource, column))}
                  >
                    <Linked href={hrefFor(resource, row, column, i === 0)} title={titles[column]}>
                      <Cell field={column} value={value} />
                    </Linked>
                  </td>
                );
              })}
              {onEdit !== undefined && (
                <td class="act">
                  {more?.(row)}
                  <button type="button" class="button quiet" onClick={() => onEdit(row)}>
                    {t("action.edit")}
                  </button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Figures stand below each other by their last digit. */
const figures: ReadonlySet<string> = new Set([
  ...(["alertCount", "alertTimes", "attempts", "dataPointCount", "deviceCount"] as const),
  ...([
    "binarySize",
    "duration",
    "keepAlive",
    "lowerLimit",
    "recordID",
    "repeatInterval",
    "upperLimit",
    "version",
    "wait",
  ] as const),
]);
const columnClass = (column: string): string => (figures.has(column) ? "figure" : "");

/** A list of other records names a device as what it is. */
const columnHead = ({ links }: Pick<Resource, "links">, column: string): string =>
  codeNames[column] ?? (column === "deviceName" && links?.deviceName !== undefined ? "deviceIntID" : column);

/** In a form a product is chosen; in a list its code stands beside its name. */
const codeNames: Readonly<Record<string, string>> = { productID: "productCode" };

function hrefFor(
  { page, links }: Pick<Resource, "page" | "links">,
  row: Row,
  column: string,
  isFirst: boolean,
): string | null {
  if (isFirst && page !== undefined) return formatHref(page(row));
  const link = links?.[column]?.(row) ?? null;
  return link === null ? null : formatHref(link.path, link.query);
}

interface LinkedProps {
  readonly href: string | null;
  readonly title: string | undefined;
  readonly children: ComponentChildren;
}

function Linked({ href, title, children }: LinkedProps) {
  if (href === null) return <>{children}</>;
  return (
    <a href={href} title={title}>
      {children}
    </a>
  );
}

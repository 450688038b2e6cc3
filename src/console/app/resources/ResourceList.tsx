/** A list of records: searched and paged by the address, with forms to make and edit, and deletion of several. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call, type Page } from "../api.js";
import { language, t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { Pager } from "../shell/Pager.js";
import { shownHeaders } from "../shown.js";
import { fieldNames } from "../texts/fields.js";
import { BeginningOf } from "./Beginning.js";
import { Deletion } from "./Deletion.js";
import { Filters } from "./Filters.js";
import { createFilterQuery, createListParameters, listFilters } from "./filtering.js";
import { ResourceForm } from "./ResourceForm.js";
import { ResourceTable } from "./ResourceTable.js";
import type { Resource, Row } from "./resources.js";
import { useLiveChanges } from "./use-live-changes.js";
import { usePlace } from "./use-place.js";
import { pageOfWhole } from "./whole-list.js";

interface ResourceListProps {
  readonly resource: Resource;
  /** Parameters that every query has, and that new records get: the product that it is about, for instance. */
  readonly within?: Readonly<Record<string, string | number>>;
  /** Further parameters for new records, which no query has. */
  readonly besides?: Readonly<Record<string, string | number>>;
  /** Asked again after so long; absent: once. */
  readonly everyMs?: number;
}

const rowsPerPage = 25;
const nobody: ReadonlySet<number> = new Set();

export function ResourceList({ resource, within = {}, besides = {}, everyMs }: ResourceListProps) {
  const { path, search, form } = resource;
  const { page = "1", q = "", new: isNew } = query.value;
  const open = useSignal<Row | "new" | null>(null);
  const filters = listFilters(resource, within);
  const question = createFilterQuery(resource, filters, query.value);
  const asked = { ...within, _page: Math.max(1, Math.trunc(Number(page)) || 1), _limit: rowsPerPage };
  const key = `${path} ${JSON.stringify([asked, question])} ${language.value}`;
  const list = useQuery(
    key,
    async (signal) => {
      const headers = shownHeaders();
      if (resource.isWhole === true) {
        return pageOfWhole(await call<readonly Row[]>("GET", path, { headers, signal }), asked, question);
      }
      return call<Page<Row>>("GET", path, {
        query: { ...asked, ...createListParameters(question) },
        headers,
        signal,
      });
    },
    everyMs,
  );
  // A tick counts only for the query in which it was set, and only while its row is shown.
  const ticked = useSignal<{ readonly key: string; readonly ids: ReadonlySet<number> }>({ key, ids: nobody });
  const items = list.data?.items ?? [];
  const chosen = new Set(
    ticked.value.key === key ? items.flatMap(({ id }) => (ticked.value.ids.has(id) ? [id] : [])) : [],
  );
  useLiveChanges(resource, typeof within.deviceID === "string" ? within.deviceID : undefined, list.again);
  usePlace(list.data !== undefined);
  useLastPage(list.data?.meta, asked._page);
  const mayChange = me.value?.rights.includes(resource.right ?? "write") === true;
  const mayDelete = mayChange && resource.canDelete;
  const mayEdit = mayChange && form !== null;

  // A link may ask for the form of a new one.
  const edited = isNew !== undefined && mayEdit ? "new" : open.value;

  return (
    <section>
      <div class="row spread tools">
        <span class="row grow">
          {search !== undefined && <Search field={search} text={q} />}
          <Filters filters={filters} />
        </span>
        <span class="row">
          {mayDelete && chosen.size > 0 && (
            <Deletion
              key={[...chosen].join()}
              path={resource.deletePath ?? path}
              ids={[...chosen]}
              {...(resource.removal === undefined
                ? {}
                : { verb: resource.removal.name, question: resource.removal.sure })}
              onDone={() => {
                ticked.value = { key, ids: nobody };
                list.again();
              }}
            />
          )}
          {mayEdit && (
            <button
              type="button"
              class="button main"
              onClick={() => {
                open.value = "new";
              }}
            >
              {t("action.new")}
            </button>
          )}
        </span>
      </div>
      <QueryResult asked={list}>
        {({ items, meta }) => (
          <>
            {items.length === 0 ? (
              <Nothing resource={resource} isFiltered={Object.keys(question).length > 0} />
            ) : (
              <ResourceTable
                resource={resource}
                items={items}
                chosen={mayDelete ? chosen : null}
                onChosen={(ids) => {
                  ticked.value = { key, ids };
                }}
                {...(mayEdit && resource.isFixed === undefined
                  ? {
                      onEdit: (row: Row) => {
                        open.value = row;
                      },
                    }
                  : {})}
              />
            )}
            <Pages {...meta} />
          </>
        )}
      </QueryResult>
      {edited !== null && form !== null && (
        <ResourceForm
          resource={resource}
          form={form}
          record={edited === "new" ? null : edited}
          within={edited === "new" ? { ...within, ...besides } : within}
          onClose={(isChanged) => {
            open.value = null;
            if (isNew !== undefined) setQuery({ new: undefined });
            if (isChanged) list.again();
          }}
        />
      )}
    </section>
  );
}

/** Where the last rows of the last page have gone, the page before is shown. */
function useLastPage(meta: Page<Row>["meta"] | undefined, page: number): void {
  const last = meta === undefined ? page : Math.max(1, Math.ceil(meta.count / meta.limit));
  const isBeyond = meta?.page === page && page > last;
  useEffect(() => {
    if (isBeyond) setQuery({ page: last === 1 ? undefined : String(last) });
  }, [isBeyond, last]);
}

interface NothingProps {
  readonly resource: Resource;
  readonly isFiltered: boolean;
}

function Nothing({ resource: { beginning }, isFiltered }: NothingProps) {
  if (!isFiltered && beginning !== undefined) return <BeginningOf {...beginning} />;
  return <p class="notice">{t(isFiltered ? "list.nothing" : "list.empty")}</p>;
}

function Search({ field, text }: { readonly field: string; readonly text: string }) {
  const words = t("list.search", { field: fieldNames(language.value)(field) });
  return (
    <input
      class="input search"
      type="search"
      placeholder={words}
      aria-label={words}
      value={text}
      onInput={(event) => setQuery({ q: event.currentTarget.value, page: undefined })}
    />
  );
}

interface PagesProps extends PageMeta {
  /** The parameter of the URL that has the page. */
  readonly parameter?: string;
}

type PageMeta = Page<Row>["meta"];

export function Pages({ count, page, limit, parameter = "page" }: PagesProps) {
  return (
    <Pager
      page={page}
      pages={Math.max(1, Math.ceil(count / limit))}
      count={count}
      before={t("list.before")}
      after={t("list.after")}
      onPage={(next) => setQuery({ [parameter]: next === 1 ? undefined : String(next) }, { replace: false })}
    />
  );
}

/** A list of records: searched and paged by the address, with forms to make and edit, and deletion of several. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { language, t } from "../i18n.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { shownHeaders } from "../shown.js";
import { fieldNames } from "../texts/fields.js";
import { Deletion } from "./Deletion.js";
import { ResourceForm } from "./ResourceForm.js";
import { ResourceTable } from "./ResourceTable.js";
import type { Resource, Row } from "./resources.js";

interface ResourceListProps {
  readonly resource: Resource;
  /** Parameters that every question has, and that new records get: the product that it is about, for instance. */
  readonly within?: Readonly<Record<string, string | number>>;
  /** Asked again after so long; absent: once. */
  readonly everyMs?: number;
}

const rowsPerPage = 25;
const nobody: ReadonlySet<number> = new Set();

export function ResourceList({ resource, within = {}, everyMs }: ResourceListProps) {
  const { path, search, form } = resource;
  const { page = "1", q = "", new: isNew } = query.value;
  const chosen = useSignal(nobody);
  const open = useSignal<Row | "new" | null>(null);
  const asked = {
    ...within,
    _page: Math.max(1, Math.trunc(Number(page)) || 1),
    _limit: rowsPerPage,
    ...(search === undefined || q === "" ? {} : { [`${search}_like`]: q }),
  };
  const list = useAsk(
    `${path} ${JSON.stringify(asked)} ${language.value}`,
    (signal) => call<Page<Row>>("GET", path, { query: asked, headers: shownHeaders(), signal }),
    everyMs,
  );
  const mayChange = me.value?.rights.includes(resource.right ?? "write") === true;
  const mayDelete = mayChange && resource.canDelete;
  const mayEdit = mayChange && form !== null;

  // A link may ask for the form of a new one.
  const edited = isNew !== undefined && mayEdit ? "new" : open.value;

  return (
    <section>
      <div class="row spread tools">
        {search === undefined ? <span /> : <Search field={search} text={q} />}
        <span class="row">
          {mayDelete && chosen.value.size > 0 && (
            <Deletion
              path={resource.deletePath ?? path}
              ids={[...chosen.value]}
              onDone={() => {
                chosen.value = nobody;
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
      <Answer asked={list}>
        {({ items, meta }) => (
          <>
            {items.length === 0 ? (
              <p class="notice">{t(q === "" ? "list.empty" : "list.nothing")}</p>
            ) : (
              <ResourceTable
                resource={resource}
                items={items}
                chosen={mayDelete ? chosen.value : null}
                onChosen={(ids) => {
                  chosen.value = ids;
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
      </Answer>
      {edited !== null && form !== null && (
        <ResourceForm
          resource={resource}
          form={form}
          record={edited === "new" ? null : edited}
          within={within}
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
  /** Of the address. */
  readonly parameter?: string;
}

type PageMeta = Page<Row>["meta"];

export function Pages({ count, page, limit, parameter = "page" }: PagesProps) {
  const pages = Math.max(1, Math.ceil(count / limit));
  const to = (next: number) => () =>
    setQuery({ [parameter]: next === 1 ? undefined : String(next) }, { replace: false });
  return (
    <p class="row pages">
      <button
        type="button"
        class="button"
        disabled={page <= 1}
        aria-label={t("list.before")}
        onClick={to(page - 1)}
      >
        ←
      </button>
      <span class="muted">{t("list.page", { page, pages, count })}</span>
      <button
        type="button"
        class="button"
        disabled={page >= pages}
        aria-label={t("list.after")}
        onClick={to(page + 1)}
      >
        →
      </button>
    </p>
  );
}

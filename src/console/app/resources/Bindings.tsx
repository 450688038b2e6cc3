/** The records that are bound to a record: lists them, binds others and unbinds them. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { language, t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { query } from "../router.js";
import { me } from "../session.js";
import { shownHeaders } from "../shown.js";
import { useAct } from "../use-act.js";
import { Choosing } from "./Choosing.js";
import { Deletion } from "./Deletion.js";
import { Pages } from "./ResourceList.js";
import { ResourceTable } from "./ResourceTable.js";
import type { Reference, Resource, Row } from "./resources.js";

interface BindingsProps {
  /** Where they are listed, given and taken away; and what of them is shown. */
  readonly resource: Pick<Resource, "path" | "columns" | "page" | "title">;
  /** What they are chosen from. */
  readonly from: Reference;
  /** The field with the ids, in the body of the request that binds. */
  readonly field?: "ids" | "devicesIntID";
  /** Where it can be bound from the other side alone: the record's own id, and where the other one's bindings are. */
  readonly fromOther?: { readonly id: number; readonly pathOf: (other: number) => string };
  /** The parameter of the address that has the page; a place with several lists has several. */
  readonly pageParameter?: string;
}

const rowsPerPage = 25;
const nobody: ReadonlySet<number> = new Set();

export function Bindings(props: BindingsProps) {
  const { resource, from, field = "ids", fromOther, pageParameter = "page" } = props;
  const { path } = resource;
  const chosen = useSignal(nobody);
  const { act, failure, isBusy } = useAct();
  const asked = {
    _page: Math.max(1, Math.trunc(Number(query.value[pageParameter])) || 1),
    _limit: rowsPerPage,
  };
  const list = useQuery(`${path} ${JSON.stringify(asked)} ${language.value}`, (signal) =>
    call<Page<Row>>("GET", path, { query: asked, headers: shownHeaders(), signal }),
  );
  const mayChange = me.value?.rights.includes("write") === true;

  async function give(other: number): Promise<boolean> {
    const isGiven = await act(async () => {
      if (fromOther === undefined) await call("POST", path, { body: { [field]: [other] } });
      else await call("POST", fromOther.pathOf(other), { body: { ids: [fromOther.id] } });
      return true;
    });
    if (isGiven === true) list.again();
    return isGiven === true;
  }

  return (
    <section>
      {mayChange && (
        <Choosing
          what={t(resource.title)}
          from={from}
          within={{}}
          isBusy={isBusy}
          className="row tools"
          onChosen={give}
        >
          {chosen.value.size > 0 && (
            <Deletion
              path={path}
              ids={[...chosen.value]}
              verb="bind.take"
              question="bind.sure"
              {...(fromOther === undefined
                ? {}
                : {
                    remove: async () => {
                      for (const other of chosen.value)
                        await call("DELETE", fromOther.pathOf(other), { query: { ids: fromOther.id } });
                    },
                  })}
              onDone={() => {
                chosen.value = nobody;
                list.again();
              }}
            />
          )}
        </Choosing>
      )}
      {failure !== null && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      <QueryResult asked={list}>
        {({ items, meta }) => (
          <>
            {items.length === 0 ? (
              <p class="notice">{t(mayChange ? "bind.empty" : "list.empty")}</p>
            ) : (
              <ResourceTable
                resource={resource}
                items={items}
                chosen={mayChange ? chosen.value : null}
                onChosen={(ids) => {
                  chosen.value = ids;
                }}
              />
            )}
            {meta.count > rowsPerPage && <Pages {...meta} parameter={pageParameter} />}
          </>
        )}
      </QueryResult>
    </section>
  );
}

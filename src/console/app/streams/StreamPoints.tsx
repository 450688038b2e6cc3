/** The data points of a stream in their order: chosen from those of the product, or made for it; moved, taken away. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { language, t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Choosing } from "../resources/Choosing.js";
import { Deletion } from "../resources/Deletion.js";
import { ResourceForm } from "../resources/ResourceForm.js";
import { ResourceTable } from "../resources/ResourceTable.js";
import { dataPoint, type Row, resources } from "../resources/resources.js";
import { me } from "../session.js";
import { shownHeaders } from "../shown.js";
import { useAct } from "../use-act.js";
import { type Change, Moves } from "./Moves.js";
import type { StreamRecord } from "./stream-record.js";

interface StreamPointsProps {
  readonly stream: StreamRecord;
  onChanged(): void;
}

/** As many as a stream may have. */
const pointsMax = 1000;
const binary = 2;
const nobody: ReadonlySet<number> = new Set();

export function StreamPoints({ stream, onChanged }: StreamPointsProps) {
  const { id, productID, dataPoints, streamDataType } = stream;
  const isBinary = streamDataType === binary;
  const mayChange = me.value?.rights.includes("write") === true;
  const chosen = useSignal(nobody);
  const open = useSignal<Row | "new" | null>(null);
  const { act, failure, isBusy } = useAct();
  const path = `/data_streams/${id}/data_points`;
  const list = useQuery(`${path} ${dataPoints.join()} ${language.value}`, (signal) =>
    call<Page<Row>>("GET", path, { query: { _limit: pointsMax }, headers: shownHeaders(), signal }),
  );

  /** Applies the change to the current points, so that changes of other users since they were shown stay. */
  async function send(change: Change): Promise<void> {
    const now = await call<StreamRecord>("GET", `/data_streams/${id}`);
    await call("PUT", `/data_streams/${id}`, { body: { dataPoints: change(now.dataPoints) } });
  }

  /** Whether it is so now. */
  async function put(change: Change): Promise<boolean> {
    const isDone = await act(async () => {
      await send(change);
      return true;
    });
    if (isDone === true) onChanged();
    return isDone === true;
  }

  return (
    <section>
      <h2>{t("title.dataPoints")}</h2>
      <p class="muted prose">{t(isBinary ? "stream.binary" : "stream.json")}</p>
      {mayChange && (
        <div class="row spread tools">
          <Choosing
            what={t("title.dataPoints")}
            from={dataPoint}
            within={{ productID }}
            isBusy={isBusy}
            className="row grow"
            onChosen={(point) => put((ids) => [...ids, point])}
          />
          <span class="row">
            {chosen.value.size > 0 && (
              <Deletion
                path=""
                ids={[...chosen.value]}
                verb="bind.take"
                question="bind.sure"
                remove={() => send((ids) => ids.filter((one) => !chosen.value.has(one)))}
                onDone={() => {
                  chosen.value = nobody;
                  onChanged();
                }}
              />
            )}
            <button
              type="button"
              class="button"
              onClick={() => {
                open.value = "new";
              }}
            >
              {t("stream.newPoint")}
            </button>
          </span>
        </div>
      )}
      {failure !== null && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      <QueryResult asked={list}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="notice">{t("stream.noPoints")}</p>
          ) : (
            <ResourceTable
              resource={{
                title: "title.dataPoints",
                columns: [
                  ...["dataPointName", "dataPointID", "pointDataType", "unitSymbol"],
                  ...(isBinary ? ["binarySize"] : ["lowerLimit", "upperLimit"]),
                ],
              }}
              items={items}
              chosen={mayChange ? chosen.value : null}
              onChosen={(ids) => {
                chosen.value = ids;
              }}
              {...(mayChange
                ? {
                    onEdit: (row: Row) => {
                      open.value = row;
                    },
                    more: (row: Row) => (
                      <Moves
                        row={row}
                        order={dataPoints}
                        isBusy={isBusy}
                        onMove={(change) => void put(change)}
                      />
                    ),
                  }
                : {})}
            />
          )
        }
      </QueryResult>
      {open.value !== null && (
        <ResourceForm
          resource={resources.dataPoints}
          form={resources.dataPoints.form}
          record={open.value === "new" ? null : open.value}
          within={{ productID }}
          onClose={(isChanged, made) => {
            open.value = null;
            const added = made?.id;
            if (typeof added === "number") void put((ids) => [...ids, added]);
            else if (isChanged) list.again();
          }}
        />
      )}
    </section>
  );
}

/** All devices and gateways of a tenant in one scrolled table, searched, filtered and sorted by the service. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api.js";
import { BulkBar } from "../bulk/BulkBar.js";
import { nothing, type Selection } from "../bulk/selection.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { missedAt } from "../live/missed.js";
import { QueryResult, useQuery } from "../query.js";
import { BeginningOf } from "../resources/Beginning.js";
import { Choice } from "../resources/Choice.js";
import { devicesBeginning } from "../resources/resources.js";
import { formatHref, query, setQuery } from "../router.js";
import { me } from "../session.js";
import { shownHeaders } from "../shown.js";
import { TaskProgress } from "../tasks/TaskProgress.js";
import { FleetRows } from "./FleetRows.js";
import type { FleetAnswer } from "./fleet-answer.js";

const sorts = [
  "-lastSeen",
  "lastSeen",
  "deviceName",
  "-deviceName",
  "deviceID",
  "-createAt",
  "-deviceStatus",
] as const;
const rowsAtOnce = 100;

export function Fleet() {
  const { q, status, product, alert, sort, task } = query.value;
  const selection = useSignal<Selection>(nothing);
  const mayChange = me.value?.rights.includes("write") === true;
  const filters = {
    q,
    deviceStatus: status,
    productIntID: product,
    hasAlert: alert,
    _sort: sorts.find((one) => one === sort),
  };
  const key = JSON.stringify(filters);
  // With what was asked: while the next answer is on its way, the rows are those of the one before.
  const round = missedAt.value;
  const first = useQuery(`fleet ${key}`, async (signal) => ({
    // After a gap in the live events, rows that were scrolled to are fetched again too.
    key: `${round} ${key}`,
    filters,
    answer: await call<FleetAnswer>("GET", "/fleet", {
      query: { ...filters, _limit: rowsAtOnce, facets: 1 },
      headers: shownHeaders(),
      signal,
    }),
  }));
  // A selection made under another filter does not fit the rows shown now.
  useEffect(() => {
    selection.value = nothing;
  }, [key]);
  const facets = first.data?.answer.facets;
  return (
    <section>
      <div class="row tools">
        <input
          class="input search"
          type="search"
          placeholder={t("fleet.search")}
          aria-label={t("fleet.search")}
          value={q ?? ""}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <Choice
          name={t("fleet.status")}
          none={t("fleet.status")}
          value={status}
          options={(facets?.deviceStatus ?? []).map(({ value, count }) => ({
            value: String(value),
            text: `${describeCode("deviceStatus", value)} (${count})`,
          }))}
          onChoice={(value) => setQuery({ status: value }, { replace: false })}
        />
        <Choice
          name={t("fleet.product")}
          none={t("fleet.product")}
          value={product}
          options={(facets?.products ?? []).map(({ productIntID, productName, count }) => ({
            value: String(productIntID),
            text: `${productName} (${count})`,
          }))}
          onChoice={(value) => setQuery({ product: value }, { replace: false })}
        />
        <Choice
          name={t("fleet.alerts")}
          none={t("fleet.alerts")}
          value={alert}
          options={[
            { value: "1", text: t("fleet.withAlert") },
            { value: "0", text: t("fleet.withoutAlert") },
          ]}
          onChoice={(value) => setQuery({ alert: value }, { replace: false })}
        />
        <Choice
          name={t("fleet.sort")}
          none={t("fleet.sort")}
          value={sort}
          options={sorts.map((one) => ({ value: one, text: t(`sort.${one}`) }))}
          onChoice={(value) => setQuery({ sort: value }, { replace: false })}
        />
      </div>
      {task !== undefined && (
        <BulkTask
          key={task}
          taskID={task}
          onEnd={first.again}
          onClose={() => setQuery({ task: undefined })}
        />
      )}
      <QueryResult asked={first}>
        {({ key: of, filters: asked, answer }) => (
          <>
            {selection.value === "all" || selection.value.size > 0 ? (
              <BulkBar
                selection={selection.value}
                count={answer.count}
                filter={createBulkFilter(asked)}
                onClear={() => {
                  selection.value = nothing;
                }}
                onBegun={(taskID) => {
                  selection.value = nothing;
                  setQuery({ task: taskID }, { replace: false });
                }}
              />
            ) : (
              <p class="muted counted" role="status">
                {t(answer.isCountBounded ? "fleet.atLeast" : "fleet.count", { count: answer.count })}
              </p>
            )}
            {answer.items.length === 0 ? (
              <NoDevices isFiltered={Object.values(asked).some(Boolean)} />
            ) : (
              <FleetRows
                key={of}
                first={answer}
                rowsAtOnce={rowsAtOnce}
                filters={asked}
                selection={mayChange ? selection.value : null}
                onSelection={(chosen) => {
                  selection.value = chosen;
                }}
              />
            )}
          </>
        )}
      </QueryResult>
    </section>
  );
}

function NoDevices({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? <p class="notice">{t("list.nothing")}</p> : <BeginningOf {...devicesBeginning} />;
}

/** The filter as a body has it: codes are numbers there, and the order is none of it. */
function createBulkFilter(
  asked: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value = ""]) =>
      name === "_sort" || value === "" ? [] : [[name, name === "q" ? value : Number(value)]],
    ),
  );
}

interface BulkTaskProps {
  readonly taskID: string;
  onEnd(): void;
  onClose(): void;
}

/** An action that was begun here, or that the address names: it goes on wherever one looks meanwhile. */
function BulkTask({ taskID, onEnd, onClose }: BulkTaskProps) {
  return (
    <section class="notice begun" aria-label={t("bulk.running")}>
      <TaskProgress taskID={taskID} onEnd={onEnd} />
      <p class="row">
        <a href={formatHref("/system", { tab: "tasks", task: taskID })}>{t("system.tasks")}</a>
        <button type="button" class="button quiet" onClick={onClose}>
          {t("action.close")}
        </button>
      </p>
    </section>
  );
}

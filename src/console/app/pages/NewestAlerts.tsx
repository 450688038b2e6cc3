/** The alerts that began last, each with its way to the device. */
import { call, type Page } from "../api.js";
import { language, t } from "../i18n.js";
import { useQuery } from "../query.js";
import { ResourceTable } from "../resources/ResourceTable.js";
import { type Resource, type Row, resources } from "../resources/resources.js";
import { useLiveChanges } from "../resources/use-live-changes.js";
import { formatHref } from "../router.js";
import { shownHeaders } from "../shown.js";

const shown = 5;
const newest: Resource = {
  ...resources.currentAlerts,
  columns: ["alertName", "alertSeverity", "deviceName", "startTime"],
};

/** @param count of all alerts: the list is queried again when it changes */
export function NewestAlerts({ count }: { readonly count: number }) {
  const asked = useQuery(`/current_alerts ${count} ${language.value}`, (signal) =>
    call<Page<Row>>("GET", newest.path, { query: { _limit: shown }, headers: shownHeaders(), signal }),
  );
  useLiveChanges(newest, undefined, asked.again);
  const items = asked.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <section class="part">
      <h2>{t("overview.newestAlerts")}</h2>
      <ResourceTable resource={newest} items={items} chosen={null} onChosen={() => undefined} />
      {count > items.length && (
        <p class="more">
          <a href={formatHref("/alerts")}>{t("overview.allAlerts", { count })}</a>
        </p>
      )}
    </section>
  );
}

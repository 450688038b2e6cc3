/** What there is, what comes in, and whether anything is wrong: at one glance. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { numberText } from "../charts/numbers.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { useLive } from "../live/live.js";
import { toneOfSeverity } from "../map/states.js";
import { QueryResult, useQuery } from "../query.js";
import { formatHref } from "../router.js";
import { me } from "../session.js";
import { Status } from "../shell/Status.js";
import { shownHeaders } from "../shown.js";
import { refreshMs } from "../system/figures.js";
import { HealthLine, OfDeployment } from "./HealthLine.js";
import { NewestAlerts } from "./NewestAlerts.js";
import { type OverviewAnswer, type OverviewEvent, renewed } from "./overview-answer.js";
import { Sparkline } from "./Sparkline.js";

/** While live events bring the figures, only the deployment's own part needs a refresh. */
const refreshLiveMs = 15_000;
/** A rate is the mean of the last whole seconds. */
const rateSeconds = 10;

export function Overview() {
  const pushed = useSignal<OverviewAnswer | null>(null);
  const isLive = useLive({
    devices: null,
    onOverview: (figures) => {
      const before = pushed.value ?? asked.data;
      if (before !== undefined) pushed.value = renewed(before, figures as OverviewEvent);
    },
  });
  const asked = useQuery(
    "/overview",
    async (signal) => {
      const answer = await call<OverviewAnswer>("GET", "/overview", { headers: shownHeaders(), signal });
      pushed.value = null;
      return answer;
    },
    isLive ? refreshLiveMs : refreshMs,
  );
  return (
    <>
      <header>
        <h1>{t("nav.overview")}</h1>
      </header>
      <QueryResult asked={asked}>
        {(overview) =>
          overview.devices.total + overview.gateways === 0 ? (
            <Beginning />
          ) : (
            <Filled {...(pushed.value ?? overview)} />
          )
        }
      </QueryResult>
    </>
  );
}

/** Nothing is there yet: one thing to do. */
function Beginning() {
  const mayWrite = me.value?.rights.includes("write") === true;
  return (
    <div class="notice form">
      <h2>{t("overview.begin")}</h2>
      <p>{t("overview.beginText")}</p>
      {mayWrite && (
        <p>
          <a class="button main" href={formatHref("/start")}>
            {t("overview.first")}
          </a>
        </p>
      )}
    </div>
  );
}

function Filled(overview: OverviewAnswer) {
  const { devices, gateways, products, groups, currentAlerts, rates, refused, deployment } = overview;
  return (
    <>
      <HealthLine {...overview} />
      <dl class="values totals">
        <Figure title={t("nav.devices")} value={devices.total} to={formatHref("/devices")}>
          <Status tone="good" word={`${devices.online} ${describeCode("deviceStatus", 1)}`} />
          <Status tone="idle" word={`${devices.offline} ${describeCode("deviceStatus", 0)}`} />
        </Figure>
        <Figure
          title={t("nav.alerts")}
          value={currentAlerts.total}
          to={formatHref("/alerts")}
          isBad={currentAlerts.total > 0}
        >
          {currentAlerts.bySeverity.map(({ alertSeverity, count }) => (
            <Status
              key={alertSeverity}
              tone={toneOfSeverity(alertSeverity)}
              word={`${count} ${describeCode("alertSeverity", alertSeverity)}`}
            />
          ))}
        </Figure>
        <Figure title={t("nav.products")} value={products} to={formatHref("/products")} />
        <Figure
          title={t("title.gateways")}
          value={gateways}
          to={formatHref("/devices", { tab: "gateways" })}
        />
        <Figure title={t("title.groups")} value={groups} to={formatHref("/devices", { tab: "groups" })} />
      </dl>
      {rates !== null && (
        <div class="values rates">
          <Rate title={t("overview.messages")} perSecond={rates.messages} color={0} />
          <Rate title={t("overview.points")} perSecond={rates.points} color={2} />
        </div>
      )}
      {currentAlerts.total > 0 && <NewestAlerts count={currentAlerts.total} />}
      {refused.length > 0 && (
        <section class="part">
          <h2>{t("overview.refused")}</h2>
          <ul class="row details">
            {refused.map(({ reason, count }) => (
              <li key={reason}>
                <Status tone="warn" word={`${count} ${reason}`} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {deployment !== null && <OfDeployment {...deployment} />}
    </>
  );
}

interface FigureProps {
  readonly title: string;
  readonly value: number;
  readonly to: string;
  readonly isBad?: boolean;
  readonly children?: preact.ComponentChildren;
}

function Figure({ title, value, to, isBad = false, children }: FigureProps) {
  return (
    <div>
      <dt class="muted">
        <a href={to}>{title}</a>
      </dt>
      <dd class={isBad ? "big status bad" : "big"}>{value}</dd>
      <dd class="muted row details">{children}</dd>
    </div>
  );
}

function Rate({
  title,
  perSecond,
  color,
}: {
  readonly title: string;
  readonly perSecond: readonly number[];
  readonly color: number;
}) {
  const last = perSecond.slice(-rateSeconds);
  const rate = last.reduce((sum, one) => sum + one, 0) / Math.max(1, last.length);
  return (
    <div>
      <span class="muted">{title}</span>{" "}
      <strong>{t("overview.perSecond", { rate: numberText(rate) })}</strong>
      <Sparkline values={perSecond} color={color} label={title} isFromZero />
    </div>
  );
}

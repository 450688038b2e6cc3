/** What there is, what comes in, and whether anything is wrong: at one glance. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { numberText } from "../charts/numbers.js";
import { wordOf } from "../codes.js";
import { t } from "../i18n.js";
import { useLive } from "../live/live.js";
import { toneOfSeverity } from "../map/states.js";
import { hrefOf } from "../router.js";
import { me } from "../session.js";
import { Status } from "../shell/Status.js";
import { momentText, shownHeaders } from "../shown.js";
import { NewestAlerts } from "./NewestAlerts.js";
import { Sparkline } from "./Sparkline.js";

interface Rates {
  /** Milliseconds since 1970, of the last of the seconds. */
  readonly endTime: number;
  readonly messages: readonly number[];
  readonly points: readonly number[];
}

interface OverviewAnswer {
  readonly devices: {
    readonly total: number;
    readonly online: number;
    readonly sleeping: number;
    readonly offline: number;
    readonly blocked: number;
  };
  readonly gateways: number;
  readonly products: number;
  readonly groups: number;
  readonly currentAlerts: {
    readonly total: number;
    readonly bySeverity: readonly { readonly alertSeverity: number; readonly count: number }[];
  };
  /** Null: this process counts no seconds for the tenant. */
  readonly rates: Rates | null;
  readonly refused: readonly { readonly reason: string; readonly count: number }[];
  readonly lag: { readonly messages: number; readonly seconds: number };
  readonly commit: { readonly p50Ms: number; readonly p99Ms: number };
  readonly disk: { readonly freeBytes: number; readonly isFull: boolean };
  readonly deployment: Deployment | null;
}

interface Deployment {
  readonly rates: Rates;
  readonly connections: number;
  readonly eventLoopDelayP99Ms: number;
  readonly degraded: Readonly<Record<string, string>>;
  readonly version: string;
  readonly engine: string;
  readonly startedAt: number;
}

/** While the figures are told, only what is of the deployment is asked for. */
const [refreshMs, refreshToldMs] = [2000, 15_000];
/** A rate is the mean of the last whole seconds. */
const rateSeconds = 10;
const gigabyte = 1e9;
const lagSecondsWarn = 10;

export function Overview() {
  const told = useSignal<OverviewAnswer | null>(null);
  const isTold = useLive({
    devices: null,
    onOverview: (figures) => {
      const before = told.value ?? asked.data;
      if (before !== undefined) told.value = renewed(before, figures as OverviewTold);
    },
  });
  const asked = useAsk(
    "/overview",
    async (signal) => {
      const answer = await call<OverviewAnswer>("GET", "/overview", { headers: shownHeaders(), signal });
      told.value = null;
      return answer;
    },
    isTold ? refreshToldMs : refreshMs,
  );
  return (
    <>
      <header>
        <h1>{t("nav.overview")}</h1>
      </header>
      <Answer asked={asked}>
        {(overview) =>
          overview.devices.total + overview.gateways === 0 ? (
            <Beginning />
          ) : (
            <Filled {...(told.value ?? overview)} />
          )
        }
      </Answer>
    </>
  );
}

type OverviewTold = Omit<OverviewAnswer, "deployment">;

/** What is told has the newest seconds of the rates alone. */
function renewed(before: OverviewAnswer, figures: OverviewTold): OverviewAnswer {
  const rates =
    before.rates === null || figures.rates === null ? figures.rates : appended(before.rates, figures.rates);
  return { ...before, ...figures, rates };
}

function appended(before: Rates, { endTime, messages, points }: Rates): Rates {
  const seconds = Math.round((endTime - before.endTime) / 1000);
  if (seconds < 0) return before;
  // Seconds that were not told of are empty until they are asked for.
  const moved = (old: readonly number[], more: readonly number[]): number[] =>
    [...old, ...Array<number>(seconds).fill(0)].slice(-old.length, -more.length).concat(more);
  return { endTime, messages: moved(before.messages, messages), points: moved(before.points, points) };
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
          <a class="button main" href={hrefOf("/start")}>
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
      <Health {...overview} />
      <dl class="values">
        <Figure title={t("nav.devices")} value={devices.total} to={hrefOf("/devices")}>
          <Status tone="good" word={`${devices.online} ${wordOf("deviceStatus", 1)}`} />
          <Status tone="idle" word={`${devices.offline} ${wordOf("deviceStatus", 0)}`} />
        </Figure>
        <Figure
          title={t("nav.alerts")}
          value={currentAlerts.total}
          to={hrefOf("/alerts")}
          isBad={currentAlerts.total > 0}
        >
          {currentAlerts.bySeverity.map(({ alertSeverity, count }) => (
            <Status
              key={alertSeverity}
              tone={toneOfSeverity(alertSeverity)}
              word={`${count} ${wordOf("alertSeverity", alertSeverity)}`}
            />
          ))}
        </Figure>
        <Figure title={t("nav.products")} value={products} to={hrefOf("/products")} />
        <Figure title={t("title.gateways")} value={gateways} to={hrefOf("/devices", { tab: "gateways" })} />
        <Figure title={t("title.groups")} value={groups} to={hrefOf("/devices", { tab: "groups" })} />
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

/** What was acknowledged is kept: how soon it is on disk, and how soon it can be read. */
function Health({ lag, commit, disk, deployment }: OverviewAnswer) {
  const degraded = Object.entries(deployment?.degraded ?? {});
  return (
    <p class="row health">
      <Status
        tone={disk.isFull ? "bad" : "good"}
        word={
          disk.isFull
            ? t("overview.full")
            : t("overview.commit", { p50: ms(commit.p50Ms), p99: ms(commit.p99Ms) })
        }
      />
      <Status
        tone={lag.seconds > lagSecondsWarn ? "warn" : "good"}
        word={t("overview.lag", {
          messages: lag.messages,
          seconds: numberText(Math.round(lag.seconds * 10) / 10),
        })}
      />
      <span class="muted">
        {t("overview.free", { size: numberText(Math.round(disk.freeBytes / gigabyte)) })}
      </span>
      {degraded.map(([part, reason]) => (
        <Status key={part} tone="bad" word={`${part}: ${reason}`} />
      ))}
    </p>
  );
}

const ms = (value: number): string => numberText(Math.round(value * 100) / 100);

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

function OfDeployment({ connections, eventLoopDelayP99Ms, version, engine, startedAt }: Deployment) {
  return (
    <section class="part">
      <h2>{t("overview.deployment")}</h2>
      <p class="muted">
        {t("overview.deploymentText", {
          version,
          engine,
          startedAt: momentText(startedAt),
          connections,
          delay: ms(eventLoopDelayP99Ms),
        })}
      </p>
    </section>
  );
}

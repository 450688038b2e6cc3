/** The health of the service: operators of the deployment see all of it, others the part of their tenant. */
import type { ComponentChildren } from "preact";
import { call } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { formatHref } from "../router.js";
import { me } from "../session.js";
import { Scroll } from "../shell/Scroll.js";
import { Status, type Tone } from "../shell/Status.js";
import { Moment, shownHeaders } from "../shown.js";
import {
  type DeploymentFigures,
  gigabyte,
  type HealthFigures,
  inHundredths,
  lagSecondsWarn,
  refreshMs,
} from "./figures.js";
import { labelled, readMetrics, sumSamples } from "./metrics.js";

interface HealthAnswer extends HealthFigures {
  readonly deployment: (DeploymentFigures & Pick<HealthFigures, "refused">) | null;
}

const commitMsWarn = 100;
/** As /readyz names it. */
const deadLettersPart = "set_aside";
const megabyte = 1e6;

export function Health() {
  const asked = useQuery(
    "/overview",
    (signal) => call<HealthAnswer>("GET", "/overview", { headers: shownHeaders(), signal }),
    refreshMs,
  );
  return (
    <QueryResult asked={asked}>
      {(health) => (
        <>
          <Parts {...health} />
          <div class="columns">
            <RefusedOnes
              title={t("health.refused")}
              counts={(health.deployment?.refused ?? health.refused).map(({ reason, count }) => [
                reason,
                count,
              ])}
            />
            {health.deployment !== null && <Connections />}
            {health.deployment !== null && <About {...health.deployment} />}
          </div>
        </>
      )}
    </QueryResult>
  );
}

/** Each part with its state, its figure and what the figure means. */
function Parts({ lag, commit, disk, deployment }: HealthAnswer) {
  const degraded = Object.entries(deployment?.degraded ?? {});
  return (
    <Scroll name={t("system.health")}>
      <table class="table parts">
        <thead>
          <tr>
            <th>{t("health.part")}</th>
            <th>{t("health.state")}</th>
            <th>{t("health.figure")}</th>
          </tr>
        </thead>
        <tbody>
          {degraded.map(([part, reason]) => (
            <Part
              key={part}
              name={part === deadLettersPart ? t("aside.title") : part}
              tone="bad"
              word={t("health.degraded")}
            >
              {part === deadLettersPart ? (
                <a href={formatHref("/messages", { tab: "setAside" })}>{reason}</a>
              ) : (
                reason
              )}
            </Part>
          ))}
          <Part name={t("health.commit")} {...(commit.p99Ms > commitMsWarn ? slow() : good())}>
            {t("health.commitFigure", { p50: inHundredths(commit.p50Ms), p99: inHundredths(commit.p99Ms) })}
          </Part>
          <Part name={t("health.lag")} {...(lag.seconds > lagSecondsWarn ? slow() : good())}>
            {t("health.lagFigure", { messages: lag.messages, seconds: inHundredths(lag.seconds) })}
          </Part>
          <Part name={t("health.disk")} {...(disk.isFull ? { tone: "bad", word: t("health.full") } : good())}>
            {t("overview.free", { size: inHundredths(disk.freeBytes / gigabyte) })}
          </Part>
          {deployment !== null && (
            <Part name={t("health.loop")} {...good()}>
              {t("health.loopFigure", { delay: inHundredths(deployment.eventLoopDelayP99Ms) })}
            </Part>
          )}
        </tbody>
      </table>
    </Scroll>
  );
}

interface Shown {
  readonly tone: Tone;
  readonly word: string;
}

const good = (): Shown => ({ tone: "good", word: t("health.good") });
const slow = (): Shown => ({ tone: "warn", word: t("health.slow") });

function Part({
  name,
  tone,
  word,
  children,
}: Shown & { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <tr>
      <td>{name}</td>
      <td>
        <Status tone={tone} word={word} />
      </td>
      <td>{children}</td>
    </tr>
  );
}

function RefusedOnes({
  title,
  counts,
}: {
  readonly title: string;
  readonly counts: readonly (readonly [name: string, count: number])[];
}) {
  return (
    <section class="counts">
      <h2>{title}</h2>
      {counts.length === 0 ? (
        <p class="muted">{t("health.none")}</p>
      ) : (
        <dl class="facts numbers">
          {counts.flatMap(([name, count]) => [
            <dt key={`${name} name`}>
              <code>{name}</code>
            </dt>,
            <dd key={name}>{count}</dd>,
          ])}
        </dl>
      )}
    </section>
  );
}

function Connections() {
  const asked = useQuery("/metrics", readMetrics, refreshMs);
  return (
    <QueryResult asked={asked}>
      {(samples) => (
        <>
          <section class="counts">
            <h2>{t("health.connections")}</h2>
            <dl class="facts numbers">
              <dt>{t("health.ofDevices")}</dt>
              <dd>{sumSamples(samples, "tidemark_connections")}</dd>
              <dt>HTTP</dt>
              <dd>{sumSamples(samples, "tidemark_http_connections")}</dd>
              <dt>{t("health.feeds")}</dt>
              <dd>{sumSamples(samples, "tidemark_live_feeds")}</dd>
            </dl>
          </section>
          <RefusedOnes
            title={t("health.ended")}
            counts={labelled(samples, "tidemark_connections_ended_total").map(({ label, value }) => [
              label,
              value,
            ])}
          />
          <section class="counts">
            <h2>{t("health.process")}</h2>
            <dl class="facts">
              <dt>{t("health.memory")}</dt>
              <dd>{inHundredths(sumSamples(samples, "process_resident_memory_bytes") / megabyte)} MB</dd>
              <dt>{t("health.segments")}</dt>
              <dd>{sumSamples(samples, "tidemark_journal_segments")}</dd>
              <LastBackup at={sumSamples(samples, "tidemark_backup_completed_seconds") * 1000} />
              <dt>{t("health.damage")}</dt>
              <dd class={sumSamples(samples, "tidemark_damage_total") > 0 ? "status bad" : ""}>
                {sumSamples(samples, "tidemark_damage_total")}
              </dd>
            </dl>
          </section>
        </>
      )}
    </QueryResult>
  );
}

/** Nothing where the service makes none, or has none. */
function LastBackup({ at }: { readonly at: number }) {
  if (at === 0) return null;
  return (
    <>
      <dt>{t("health.backup")}</dt>
      <dd>
        <Moment at={at} />
      </dd>
    </>
  );
}

function About({ version, engine, timezones, startedAt }: NonNullable<HealthAnswer["deployment"]>) {
  return (
    <section class="counts">
      <h2>{t("overview.deployment")}</h2>
      <dl class="facts">
        <dt>{t("health.version")}</dt>
        <dd>{version}</dd>
        <dt>{t("health.engine")}</dt>
        <dd>{engine}</dd>
        <dt>{t("health.since")}</dt>
        <dd>
          <Moment at={startedAt} />
        </dd>
        <dt>{t("explore.zone")}</dt>
        <dd>{me.value?.timezone}</dd>
        <dt>{t("health.zones")}</dt>
        <dd>
          {timezones.version ?? "?"}
          {timezones.warning !== null && <p class="notice warn">{t("health.zonesOld")}</p>}
        </dd>
      </dl>
    </section>
  );
}

/** How the service does, in a line and in a sentence. */
import { numberText } from "../charts/numbers.js";
import { t } from "../i18n.js";
import { Status } from "../shell/Status.js";
import { momentText } from "../shown.js";
import { type DeploymentFigures, gigabyte, inHundredths, lagSecondsWarn } from "../system/figures.js";
import type { OverviewAnswer } from "./overview-answer.js";

/** The health of the service: how soon messages are on disk, and how soon they can be read. */
export function HealthLine({ lag, commit, disk, deployment }: OverviewAnswer) {
  const degraded = Object.entries(deployment?.degraded ?? {});
  return (
    <p class="row health">
      <Status
        tone={disk.isFull ? "bad" : "good"}
        word={
          disk.isFull
            ? t("overview.full")
            : t("overview.commit", { p50: inHundredths(commit.p50Ms), p99: inHundredths(commit.p99Ms) })
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

export function OfDeployment({
  connections,
  eventLoopDelayP99Ms,
  version,
  engine,
  startedAt,
}: DeploymentFigures) {
  return (
    <section class="part">
      <h2>{t("overview.deployment")}</h2>
      <p class="muted">
        {t("overview.deploymentText", {
          version,
          engine,
          startedAt: momentText(startedAt),
          connections,
          delay: inHundredths(eventLoopDelayP99Ms),
        })}
      </p>
    </section>
  );
}

import { describeCode } from "../../codes.js";
import { t } from "../../i18n.js";
import { QueryResult, useQuery } from "../../query.js";
import { beyondName } from "../../resources/beyond-name.js";
import { formatHref } from "../../router.js";
import { Scroll } from "../../shell/Scroll.js";
import { Status } from "../../shell/Status.js";
import { Moment } from "../../shown.js";
import type { PanelProps } from "../context.js";
import type { AlertsPanel as Alerts } from "../document.js";

export function AlertsPanel({ panel, board, isVisible }: PanelProps<Alerts>) {
  const { source, from, to, round } = board;
  const question = JSON.stringify([panel.id, panel.filters, source.key, from, to, round]);
  const asked = useQuery(isVisible ? question : null, (signal) => source.alerts(panel, { from, to }, signal));
  return (
    <QueryResult isPart asked={asked}>
      {(alerts) =>
        alerts.length === 0 ? (
          <p class="empty">
            <Status tone="good" word={t("board.noAlerts")} />
          </p>
        ) : (
          <Scroll name={`${t("panel.alerts")}: ${panel.title}`} class="whole">
            <ul class="alerts-panel">
              {alerts.map((alert) => (
                <li key={alert.id} class="row">
                  <Status
                    tone={alert.alertSeverity <= 2 ? "bad" : "warn"}
                    word={describeCode("alertSeverity", alert.alertSeverity)}
                  />
                  <strong class="cut name">{alert.alertName}</strong>
                  {source.isOwn && alert.deviceIntID !== undefined ? (
                    <a class="cut" href={formatHref(`/devices/${alert.deviceIntID}`)}>
                      {alert.deviceName}
                    </a>
                  ) : (
                    <span class="cut">{alert.deviceName}</span>
                  )}
                  <span class="cut">{beyondName(alert.alertName, alert.alertContent)}</span>
                  <span class="muted when">
                    <Moment at={alert.startTime} zone={board.zone} />
                  </span>
                </li>
              ))}
            </ul>
          </Scroll>
        )
      }
    </QueryResult>
  );
}

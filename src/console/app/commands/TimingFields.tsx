import { isZone } from "../charts/zone.js";
import { t } from "../i18n.js";
import { ZoneField } from "../range/ZonePicker.js";
import { me } from "../session.js";
import { Field } from "../shell/Field.js";
import { ownTime, type TypedTiming, timings } from "./schedule.js";

interface TimingFieldsProps {
  readonly timing: TypedTiming;
  onTiming(timing: TypedTiming): void;
}

export function TimingFields({ timing, onTiming }: TimingFieldsProps) {
  const { kind, at, zone, minutes, cron } = timing;
  const ownZone = me.value?.timezone ?? "UTC";
  const put = (changes: Partial<TypedTiming>) => onTiming({ ...timing, ...changes });
  return (
    <div class="command-target">
      <Field name={t("schedule.when")}>
        <select
          class="input"
          value={kind}
          onChange={(event) =>
            put({ kind: timings.find((one) => one === event.currentTarget.value) ?? kind })
          }
        >
          {timings.map((one) => (
            <option key={one} value={one}>
              {t(`schedule.${one}`)}
            </option>
          ))}
        </select>
      </Field>
      {kind === "once" && (
        <div class="form">
          <Field name={t("schedule.at")}>
            <input
              class="input"
              type="datetime-local"
              step="1"
              required
              value={at}
              onInput={(event) => put({ at: event.currentTarget.value })}
            />
          </Field>
          <ZoneField zone={zone} onZone={(typed) => put({ zone: typed })} />
          {at !== "" && zone !== ownZone && isZone(zone) && (
            <span class="muted">{t("schedule.own", { at: ownTime(timing, ownZone), zone: ownZone })}</span>
          )}
        </div>
      )}
      {kind === "every" && (
        <Field name={t("schedule.minutes")}>
          <input
            class="input"
            inputMode="numeric"
            required
            autocomplete="off"
            value={minutes}
            onInput={(event) => put({ minutes: event.currentTarget.value })}
          />
        </Field>
      )}
      {kind === "cron" && (
        <div class="form">
          <Field name="Cron">
            <input
              class="input mono"
              placeholder="30 6 * * mon-fri"
              required
              autocomplete="off"
              value={cron}
              onInput={(event) => put({ cron: event.currentTarget.value })}
            />
          </Field>
          <span class="muted">{t("schedule.hint", { zone: ownZone })}</span>
        </div>
      )}
    </div>
  );
}

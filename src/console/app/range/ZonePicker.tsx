import { isZone, offsetText } from "../charts/zone.js";
import { t } from "../i18n.js";

interface ZonePickerProps {
  readonly zone: string;
  onZone(zone: string): void;
}

/** The one zone of question, axis, table and range. */
export function ZonePicker({ zone, onZone }: ZonePickerProps) {
  return (
    <label class="row tight named">
      <span class="muted">{t("explore.zone")}</span>
      <input
        class="input zone"
        aria-keyshortcuts="z"
        list="zones"
        value={zone}
        onChange={(event) => {
          if (isZone(event.currentTarget.value)) onZone(event.currentTarget.value);
          else event.currentTarget.value = zone;
        }}
      />
      <span class="mono muted">{offsetText(zone, Date.now())}</span>
      <datalist id="zones">
        {Intl.supportedValuesOf("timeZone").map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}

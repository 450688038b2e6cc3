import { signal } from "@preact/signals";
import { call } from "../api.js";
import { loadZone, offsetText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { me } from "../session.js";

const names = signal<readonly string[]>([]);

/** A reader of a share may type one. */
async function loadNames(): Promise<void> {
  if (me.value === null || names.value.length > 0) return;
  names.value = (await call<{ readonly items: readonly string[] }>("GET", "/timezones")).items;
}

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
        onFocus={() => void loadNames().catch(() => undefined)}
        onChange={async ({ currentTarget: input }) => {
          const { value } = input;
          if (await loadZone(value).catch(() => false)) onZone(value);
          else input.value = zone;
        }}
      />
      <span class="mono muted">{offsetText(zone, Date.now())}</span>
      <datalist id="zones">
        {names.value.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}

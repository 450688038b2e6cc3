import { signal } from "@preact/signals";
import { call } from "../api.js";
import { isZone, loadZone, offsetText } from "../charts/zone.js";
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

/** The one zone of question, axis, table and range: it changes once its rules are here. */
export function ZonePicker({ zone, onZone }: ZonePickerProps) {
  const load = async (input: HTMLInputElement): Promise<void> => {
    const { value } = input;
    if (await loadZone(value).catch(() => false)) onZone(value);
    else input.value = zone;
  };
  return <ZoneField zone={zone} onInput={load} />;
}

interface ZoneFieldProps {
  readonly zone: string;
  onInput(input: HTMLInputElement): void;
}

/** A zone as it is typed, which may be none. */
export function ZoneField({ zone, onInput }: ZoneFieldProps) {
  return (
    <label class="row tight named">
      <span class="muted">{t("explore.zone")}</span>
      <input
        class="input zone"
        aria-keyshortcuts="z"
        list="zones"
        value={zone}
        onFocus={() => void loadNames().catch(() => undefined)}
        onChange={({ currentTarget }) => onInput(currentTarget)}
      />
      <span class="mono muted">{isZone(zone) ? offsetText(zone, Date.now()) : ""}</span>
      <datalist id="zones">
        {names.value.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </label>
  );
}

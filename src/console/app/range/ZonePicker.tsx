import { signal } from "@preact/signals";
import { call } from "../api.js";
import { isZone, loadZone, offsetText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { me } from "../session.js";
import { CommittedInput } from "../shell/CommittedInput.js";

const names = signal<readonly string[]>([]);

/** A reader of a share may type one. */
async function loadNames(): Promise<void> {
  if (me.value === null || names.value.length > 0) return;
  names.value = (await call<{ readonly items: readonly string[] }>("GET", "/timezones")).items;
}

/** The one zone of query, axis, table and range: it changes once its rules are here. */
export function ZonePicker({ zone, onZone }: ZoneFieldProps) {
  const load = async (typed: string): Promise<void> => {
    if (await loadZone(typed).catch(() => false)) await onZone(typed);
  };
  return <ZoneField zone={zone} onZone={load} />;
}

interface ZoneFieldProps {
  readonly zone: string;
  onZone(zone: string): void | Promise<void>;
}

/** A zone as it is typed, which may be none. */
export function ZoneField({ zone, onZone }: ZoneFieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is within
    <label class="row tight named">
      <span class="muted">{t("explore.zone")}</span>
      <CommittedInput
        class="input zone"
        aria-keyshortcuts="z"
        list="zones"
        value={zone}
        onFocus={() => void loadNames().catch(() => undefined)}
        onCommit={(typed) => onZone(typed.trim())}
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

/** A device's values over any range: the page for questions that no dashboard has asked yet. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { useAsk } from "../ask.js";
import { isZone, offsetText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { presets, shifted, spanOf } from "../range.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { RawChart } from "./RawChart.js";

const units = ["real", "minute", "hour", "day", "week", "month", "year"] as const;
interface DeviceRow {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceName: string;
}

export function Explore() {
  const { d: device = "", u = "real", from = "-24h", to = "now", tz = "" } = query.value;
  const zone = isZone(tz) && tz !== "" ? tz : (me.value?.timezone ?? "UTC");
  const unit = units.find((one) => one === u) ?? "real";
  const now = useSignal(Date.now());
  const span = spanOf({ start: from, end: to }, now.value, zone);
  return (
    <>
      <header>
        <h1>{t("nav.explore")}</h1>
        <DevicePicker device={device} />
      </header>
      <div class="row controls">
        {presets.map(({ start, end }, i) => (
          <button
            key={start}
            type="button"
            class="button"
            {...(i === 0 ? { "aria-keyshortcuts": "t" } : {})}
            aria-pressed={start === from && end === to}
            onClick={() => {
              now.value = Date.now();
              setQuery({ from: start, to: end }, { replace: false });
            }}
          >
            {start}
          </button>
        ))}
        {span !== null &&
          ([-0.5, 0.5] as const).map((by) => (
            <button
              key={by}
              type="button"
              class="button"
              aria-keyshortcuts={by < 0 ? "[" : "]"}
              aria-label={t(by < 0 ? "range.earlier" : "range.later")}
              onClick={() => {
                const { start, end } = shifted(span, by);
                setQuery({ from: start, to: end }, { replace: false });
              }}
            >
              {by < 0 ? "←" : "→"}
            </button>
          ))}
        <label class="row">
          <span class="muted">{t("explore.window")}</span>
          <select class="input" value={unit} onChange={(event) => setQuery({ u: event.currentTarget.value })}>
            {units.map((one) => (
              <option key={one} value={one}>
                {t(`unit.${one}`)}
              </option>
            ))}
          </select>
        </label>
        <ZonePicker zone={zone} />
      </div>
      {device === "" ? (
        <p class="notice">{t("explore.empty")}</p>
      ) : span === null ? (
        <p class="notice bad">{t("range.wrong")}</p>
      ) : (
        <RawChart
          device={device}
          unit={unit}
          zone={zone}
          {...span}
          onRange={(first, last) =>
            setQuery({ from: String(Math.floor(first)), to: String(Math.ceil(last)) }, { replace: false })
          }
        />
      )}
    </>
  );
}

const suggestions = 10;

function DevicePicker({ device }: { readonly device: string }) {
  const typed = useSignal(device);
  const found = useAsk(typed.value, (signal) =>
    call<Page<DeviceRow>>("GET", "/devices", {
      query: { deviceID_like: typed.value, _limit: suggestions },
      signal,
    }),
  );
  return (
    <label class="row">
      <span class="muted">{t("explore.device")}</span>
      <input
        class="input"
        list="devices-found"
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
        }}
        onChange={(event) => setQuery({ d: event.currentTarget.value.trim() }, { replace: false })}
      />
      <datalist id="devices-found">
        {found.data?.items.map(({ id, deviceID, deviceName }) => (
          <option key={id} value={deviceID}>
            {deviceName}
          </option>
        ))}
      </datalist>
    </label>
  );
}

function ZonePicker({ zone }: { readonly zone: string }) {
  return (
    <label class="row">
      <span class="muted">{t("explore.zone")}</span>
      <input
        class="input"
        aria-keyshortcuts="z"
        list="zones"
        value={zone}
        onChange={(event) => {
          if (isZone(event.currentTarget.value)) setQuery({ tz: event.currentTarget.value });
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

/** Which devices, and which of their data points and metrics: a switch for each. */
import { useSignal } from "@preact/signals";
import { t } from "../i18n.js";
import { setQuery } from "../router.js";
import type { Catalog } from "./catalog.js";
import { listMetricRows, listPointRows, pointsOn } from "./chosen.js";
import { DeviceInput } from "./DeviceInput.js";
import { devicesMax, type ExploreState, listText } from "./state.js";

const switchesShown = 24;

export function DevicePicker({ state, catalog }: PickerProps) {
  const { devices } = state;
  const set = (ids: readonly string[]): void => setQuery({ d: ids.join() }, { replace: false });
  const nameDevice = (id: string): string =>
    catalog?.devices.find(({ deviceID }) => deviceID === id)?.deviceName ?? id;
  return (
    <div class="row">
      {devices.map((id) => (
        <span key={id} class={`chip ${catalog?.unknown.includes(id) === true ? "missing" : ""}`}>
          <span class="cut" title={id}>
            {nameDevice(id)}
          </span>
          <button
            type="button"
            class="button quiet"
            aria-label={t("explore.remove", { name: nameDevice(id) })}
            onClick={() => set(devices.filter((one) => one !== id))}
          >
            ×
          </button>
        </span>
      ))}
      {devices.length < devicesMax && (
        <DeviceInput
          label={t(devices.length === 0 ? "explore.device" : "explore.addDevice")}
          onDevice={(id) => set([...new Set([...devices, id])])}
        />
      )}
    </div>
  );
}

interface PickerProps {
  readonly state: ExploreState;
  readonly catalog: Catalog | undefined;
}

export function SeriesPicker({
  state,
  catalog,
}: {
  readonly state: ExploreState;
  readonly catalog: Catalog;
}) {
  const isWhole = useSignal(false);
  const points = listPointRows(catalog);
  const metrics = listMetricRows(catalog, state.unit);
  const on = pointsOn(catalog, state);
  const switches = [
    ...points.map(({ dataPointID, dataPointName }) => ({
      key: dataPointID,
      name: dataPointName,
      isOn: on.includes(dataPointID),
      toggle: () =>
        setQuery({ p: listText(toggled(on, dataPointID)), m: state.metrics.join() }, { replace: false }),
    })),
    ...metrics.map(({ id, metricName }) => ({
      key: `metric ${id}`,
      name: `ƒ ${metricName}`,
      isOn: state.metrics.includes(id),
      toggle: () => setQuery({ p: listText(on), m: toggled(state.metrics, id).join() }, { replace: false }),
    })),
  ];
  if (switches.length === 0) return null;
  const shown = isWhole.value ? switches : switches.filter(({ isOn }, i) => isOn || i < switchesShown);
  return (
    <fieldset class="row switches">
      <legend class="unseen">{t("explore.series")}</legend>
      {shown.map(({ key, name, isOn, toggle }) => (
        <button key={key} type="button" class="button switch" aria-pressed={isOn} onClick={toggle}>
          <span class="cut">{name}</span>
        </button>
      ))}
      {shown.length < switches.length && (
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          {t("explore.moreSeries", { count: switches.length - shown.length })}
        </button>
      )}
    </fieldset>
  );
}

const toggled = <T,>(all: readonly T[], one: T): T[] =>
  all.includes(one) ? all.filter((other) => other !== one) : [...all, one];

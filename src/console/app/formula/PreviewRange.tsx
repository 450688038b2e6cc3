/** On which device, and how far back, something is tried that is not saved. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { DeviceInput } from "../explore/DeviceInput.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";

const previewDays = [1, 7, 30] as const;

interface PreviewRangeProps {
  readonly productID: string;
  readonly device: string;
  readonly days: number;
  onDevice(deviceID: string): void;
  onDays(days: number): void;
}

export function PreviewRange({ productID, device, days, onDevice, onDays }: PreviewRangeProps) {
  return (
    <>
      <DeviceInput
        key={device}
        label={t("preview.device")}
        within={{ productID }}
        value={device}
        onDevice={onDevice}
      />
      <span class="row tight">
        {previewDays.map((one) => (
          <button
            key={one}
            type="button"
            class="button"
            aria-pressed={one === days}
            onClick={() => onDays(one)}
          >
            {t("preview.days", { days: one })}
          </button>
        ))}
      </span>
    </>
  );
}

interface DeviceRow {
  readonly deviceID: string;
}

/** The device that something is tried on: the first of the product until another is chosen. */
export function usePreviewDevice(productID: string | null): [device: string, choose: (id: string) => void] {
  const chosen = useSignal<{ readonly productID: string; readonly deviceID: string } | null>(null);
  const first = useQuery(`first device ${productID}`, async (signal) =>
    productID === null
      ? null
      : {
          productID,
          page: await call<Page<DeviceRow>>("GET", "/devices", { query: { productID, _limit: 1 }, signal }),
        },
  );
  const found = first.data?.productID === productID ? first.data?.page.items[0]?.deviceID : undefined;
  const own = chosen.value?.productID === productID ? chosen.value.deviceID : undefined;
  return [
    own ?? found ?? "",
    (deviceID) => {
      if (productID !== null) chosen.value = { productID, deviceID };
    },
  ];
}

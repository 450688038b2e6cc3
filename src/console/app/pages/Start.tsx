/** From nothing to a first message on the screen: or why it is not there, and one click that mends it. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { query, setQuery } from "../router.js";
import { FirstMessage } from "./FirstMessage.js";

interface Made {
  readonly id: number;
  readonly productID: string;
}

const mqtt = 1;
const number = 1;
const reported = 1;

export function Start() {
  const { device } = query.value;
  return (
    <>
      <header>
        <h1>{t("start.title")}</h1>
      </header>
      {device === undefined ? <Names /> : <FirstMessage id={device} />}
    </>
  );
}

/** A product with one data point, and a device of it. */
function Names() {
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);

  async function make(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => String(form.get(name)).trim();
    isBusy.value = true;
    fault.value = null;
    try {
      const product = await call<Made>("POST", "/products", {
        body: { productName: text("product"), cloudProtocol: mqtt },
      });
      if (text("key") !== "") {
        await call("POST", "/data_points", {
          body: {
            productID: product.productID,
            dataPointID: text("key"),
            dataPointName: text("key"),
            pointDataType: number,
            dataTransType: reported,
          },
        });
      }
      const device = await call<Made>("POST", "/devices", {
        body: {
          productID: product.productID,
          deviceID: text("device"),
          deviceName: text("device"),
          deviceType: 1,
          upLinkSystem: 1,
          cloudProtocol: mqtt,
          authType: 1,
        },
      });
      setQuery({ device: String(device.id) }, { replace: false });
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [
        error.message,
        ...Object.entries(error.fields).map(([field, why]) => `${field} ${why}`),
      ].join("; ");
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <form class="form start" onSubmit={make}>
      <Text
        name="product"
        label={t("start.product")}
        hint={t("start.productHint")}
        initial="Greenhouse"
        isRequired={true}
      />
      <Text name="key" label={t("start.key")} hint={t("start.keyHint")} initial="temp" isRequired={false} />
      <Text
        name="device"
        label={t("start.device")}
        hint={t("start.deviceHint")}
        initial="gh-1"
        isRequired={true}
      />
      {fault.value !== null && (
        <p class="notice bad" role="alert">
          {fault.value}
        </p>
      )}
      <p>
        <button type="submit" class="button main" disabled={isBusy.value}>
          {t("start.make")}
        </button>
      </p>
    </form>
  );
}

interface TextProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly initial: string;
  readonly isRequired: boolean;
}

function Text({ name, label, hint, initial, isRequired }: TextProps) {
  return (
    <label class="field">
      <span class="name">{label}</span>
      <input class="input" name={name} defaultValue={initial} required={isRequired} />
      <span class="muted hint">{hint}</span>
    </label>
  );
}

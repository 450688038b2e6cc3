/** A service on Mosquitto for one suite, and devices that publish there. */
import { type AnyService, openService } from "../../../flow/support.js";
import { openTempDir, suite, type Test } from "../../../suite.js";
import type { Rec } from "../../../world.js";
import { brokerMissing, type Mosquitto, startMosquitto } from "./mosquitto.js";

interface BrokerWorld {
  readonly broker: Mosquitto;
  readonly service: AnyService;
  /** With the data point `n`. */
  readonly product: Rec;
  device(fields?: Readonly<Record<string, unknown>>): Promise<Rec>;
}

/** Every test of the suite is skipped where there is no Mosquitto. */
export function brokerSuite(
  name: string,
  define: (test: Test, world: BrokerWorld) => void,
  environment: Readonly<Record<string, string>> = {},
): void {
  suite(name, (test) => {
    const missing = brokerMissing();
    if (missing !== null) {
      test.skip("everything", missing);
      return;
    }
    let opened: (BrokerWorld & { close(): Promise<void> }) | undefined;
    const world = (): BrokerWorld => {
      if (opened === undefined) throw new Error("the service is not open");
      return opened;
    };
    test.before(async () => {
      opened = await open(environment);
    });
    test.after(async () => opened?.close());
    define(test, {
      get broker() {
        return world().broker;
      },
      get service() {
        return world().service;
      },
      get product() {
        return world().product;
      },
      device: (fields) => world().device(fields),
    });
  });
}

async function open(environment: Readonly<Record<string, string>>) {
  const brokerDir = await openTempDir();
  const dataDir = await openTempDir();
  const broker = await startMosquitto({ dir: brokerDir.path });
  const service = await openService(dataDir.path, { BROKER_URL: broker.url, ...environment });
  const product = await service.make("/api/v1/products", { productName: "broker", cloudProtocol: 1 });
  await service.make("/api/v1/data_points", pointOf(product));
  return {
    broker,
    service,
    product,
    device: (fields: Readonly<Record<string, unknown>> = {}) => makeDevice(service, product, fields),
    close: async () => {
      await service.stop();
      await broker.stop();
      await dataDir.close();
      await brokerDir.close();
    },
  };
}

export const pointOf = (product: Rec) => ({
  dataPointName: "n",
  dataPointID: "n",
  productIntID: product.id,
  pointDataType: 1,
  dataTransType: 1,
});

let made = 0;

export function makeDevice(
  service: AnyService,
  product: Rec,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Rec> {
  const name = `broker-${++made}`;
  return service.make("/api/v1/devices", {
    productID: product.productID,
    cloudProtocol: 1,
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
    deviceName: name,
    deviceID: name,
    ...fields,
  });
}

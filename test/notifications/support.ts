import { makeDataPoint, makeDevice, makeProduct, unique } from "../factories.js";
import type { Rec, Reply, World } from "../world.js";

/** The document that a webhook gets. */
export interface Told {
  readonly status: string;
  readonly kind: string;
  readonly subject: string;
  readonly began: number;
  readonly ended: number;
  readonly firing: number;
  readonly more: number;
  readonly alerts: readonly {
    readonly id: number;
    readonly alertName: string;
    readonly deviceName: string;
    readonly status: string;
    readonly severity: string;
  }[];
}

export const contactBody = (type: string, settings: object, fields: object = {}) => ({
  name: unique("contact"),
  type,
  language: "en",
  settings,
  ...fields,
});

export const makeContact = (
  world: World,
  type: string,
  settings: object,
  fields: object = {},
): Promise<Rec> => world.make("/api/v1/contact_points", contactBody(type, settings, fields));

export const makeRoute = (world: World, contact: Rec, fields: object = {}): Promise<Rec> =>
  world.make("/api/v1/alert_routes", {
    name: unique("route"),
    contactPoints: [contact.id],
    wait: 0,
    groupInterval: 10,
    ...fields,
  });

/** A product whose devices raise an alert when they publish `temp` above 50. */
export async function makeHotProduct(world: World, rule: object = {}): Promise<{ product: Rec; rule: Rec }> {
  const product = await makeProduct(world);
  const point = await makeDataPoint(world, product, { dataPointID: "temp" });
  const made = await world.make("/api/v1/alert_rules", {
    alertName: unique("Hot"),
    alertContent: "too hot",
    dataPointIntID: point.id,
    condition: "dataPoint > 50",
    ...rule,
  });
  return { product, rule: made };
}

/** Such a device, and a route of its product. */
export async function makeAlerting(world: World, contact: Rec, fields: object = {}) {
  const { product, rule } = await makeHotProduct(world);
  const device = await makeDevice(world, product);
  const route = await makeRoute(world, contact, { productIntID: product.id, ...fields });
  return { product, device, rule, route };
}

export const logOf = async (world: World, contact: Rec): Promise<readonly Rec[]> =>
  (await world.call("GET", `/api/v1/notifications?contactPointIntID=${contact.id}`)).page.items;

export const testContact = (world: World, contact: Rec): Promise<Reply> =>
  world.call("POST", `/api/v1/contact_points/${contact.id}/test`);

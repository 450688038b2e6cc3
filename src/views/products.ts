import { devicesShownMax, type Product } from "../../store/metadata/products/products.js";
import type { ViewContext } from "./context.js";

const lwm2m = 3;

/** A product, and in Variant B the ids of its newest devices, one more than are shown if there are more. */
export interface ProductRow extends Product {
  readonly devices?: readonly number[];
}

export function productTruncated(product: ProductRow): boolean {
  return (product.devices?.length ?? 0) > devicesShownMax;
}

/** The `devices` of Variant B. */
export function devicesShown(ids: readonly number[]): { id: number }[] {
  return ids.slice(0, devicesShownMax).map((id) => ({ id }));
}

export function productStored(product: ProductRow, { stamp, variant }: ViewContext) {
  return {
    id: product.id,
    productID: product.productID,
    productName: product.productName,
    description: product.description,
    ...(variant === "A"
      ? { cloudProtocol: product.cloudProtocol }
      : { devices: devicesShown(product.devices ?? []), userIntID: product.userIntID }),
    createAt: stamp(product.createAt),
    updateAt: stamp(product.updateAt),
  };
}

function productShown(product: ProductRow, context: ViewContext) {
  const stored = productStored(product, context);
  if (context.variant === "B") {
    return { ...stored, deviceCount: product.deviceCount + product.gatewayCount };
  }
  return {
    ...stored,
    cloudProtocolLabel: context.label("cloudProtocol", product.cloudProtocol),
    deviceCount: product.deviceCount,
  };
}

export function productListed(product: ProductRow, context: ViewContext) {
  const shown = productShown(product, context);
  if (context.variant === "B") return shown;
  const items = product.cloudProtocol === lwm2m;
  return {
    ...shown,
    appCount: product.appCount,
    dataPointCount: items ? null : product.dataPointCount,
    dataStreamCount: items ? null : product.dataStreamCount,
    itemCount: items ? 0 : null,
  };
}

export function productDetail(product: ProductRow, context: ViewContext) {
  return { ...productShown(product, context), createUser: product.createUser };
}

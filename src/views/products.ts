import type { Product } from "../../store/products.js";
import { label } from "./labels.js";
import type { Stamp } from "./time.js";

const lwm2m = 3;

export function productStored(product: Product, stamp: Stamp) {
  return {
    id: product.id,
    productID: product.productID,
    productName: product.productName,
    description: product.description,
    cloudProtocol: product.cloudProtocol,
    createAt: stamp(product.createAt),
    updateAt: stamp(product.updateAt),
  };
}

function productShown(product: Product, stamp: Stamp) {
  return {
    ...productStored(product, stamp),
    cloudProtocolLabel: label("cloudProtocol", product.cloudProtocol),
    deviceCount: product.deviceCount,
  };
}

export function productListed(product: Product, stamp: Stamp) {
  const items = product.cloudProtocol === lwm2m;
  return {
    ...productShown(product, stamp),
    appCount: 0,
    dataPointCount: items ? null : product.dataPointCount,
    dataStreamCount: items ? null : product.dataStreamCount,
    itemCount: items ? 0 : null,
  };
}

export function productDetail(product: Product, stamp: Stamp) {
  return { ...productShown(product, stamp), createUser: product.createUser };
}

import type { ProductResource } from "../../store/metadata/products/product-resources.js";
import { textDictionary } from "../http/labels.js";
import type { Stamped } from "./context.js";

export function productResourceStored(resource: ProductResource, { stamp }: Stamped) {
  return {
    id: resource.id,
    codeValue: resource.codeValue,
    dataPointIntID: resource.dataPointIntID,
    productItemIntID: resource.productItemIntID,
    createAt: stamp(resource.createAt),
    updateAt: stamp(resource.updateAt),
  };
}

export function productResourceListed(resource: ProductResource, context: Stamped) {
  const labels: Readonly<Record<string, string>> = textDictionary.codeValue;
  return {
    ...productResourceStored(resource, context),
    codeValueLabel: labels[resource.codeValue] ?? null,
    dataPointName: resource.dataPointName,
    itemName: null,
  };
}

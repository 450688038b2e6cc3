import type { ProductResource } from "../../store/metadata/products/product-resources.js";
import type { Labelled } from "./context.js";

export function productResourceStored(resource: ProductResource, { stamp }: Labelled) {
  return {
    id: resource.id,
    codeValue: resource.codeValue,
    dataPointIntID: resource.dataPointIntID,
    productItemIntID: resource.productItemIntID,
    createAt: stamp(resource.createAt),
    updateAt: stamp(resource.updateAt),
  };
}

export function productResourceListed(resource: ProductResource, context: Labelled) {
  return {
    ...productResourceStored(resource, context),
    codeValueLabel: context.labelOfText("codeValue", resource.codeValue),
    dataPointName: resource.dataPointName,
    itemName: null,
  };
}

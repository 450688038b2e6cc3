import { z } from "@hono/zod-openapi";
import { type Newest, toNewestFields, valueText } from "../../query/newest.js";
import type { AppTemplate } from "../../store/metadata/products/app-templates.js";
import {
  intOrNull,
  intSchema,
  newestErrorSchema,
  stampOrNull,
  stampText,
  textOrNull,
} from "../http/schemas.js";
import type { Labelled } from "./context.js";
import { dataPointStoredSchema } from "./data-points.js";

const enumEntries = dataPointStoredSchema.shape.enum;

export const appTemplateStoredSchema = z
  .object({
    id: intSchema,
    templateName: z.string(),
    templateType: intSchema,
    productID: z.string(),
    productItemIntID: intOrNull,
    topic: textOrNull,
    dataPointIntID: intSchema,
    dataPointID: z.string(),
    dataStreamIntID: intOrNull,
    dataTransType: intSchema,
    enum: enumEntries,
    places: z.array(intSchema).length(2).nullable(),
    defaultValues: z.array(
      z
        .object({
          id: intSchema,
          dataPointID: z.string(),
          dataPointName: z.string(),
          enum: enumEntries,
          pointDataType: intSchema,
          value: z.unknown(),
        })
        .openapi("AppTemplateDefaultValue"),
    ),
    instanceID: intOrNull,
    itemID: intOrNull,
    itemName: textOrNull,
    itemOperations: textOrNull,
    objectID: intOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("AppTemplateStored");
export const appTemplateSchema = appTemplateStoredSchema
  .extend({ templateTypeLabel: z.string(), dataPointName: z.string(), dataStreamName: textOrNull })
  .openapi("AppTemplate");
export const consoleTemplateSchema = appTemplateSchema
  .omit({ itemID: true, itemName: true, itemOperations: true, objectID: true })
  .extend({ value: textOrNull, error: newestErrorSchema })
  .openapi("DeviceConsole");

/** The fields of every form of a template; the names of its data point and stream are looked up. */
function common(template: AppTemplate, { stamp }: Labelled) {
  return {
    id: template.id,
    templateName: template.templateName,
    templateType: template.templateType,
    productID: template.productID,
    productItemIntID: template.productItemIntID,
    topic: template.topic,
    dataPointIntID: template.dataPointIntID,
    dataPointID: template.dataPointID,
    dataStreamIntID: template.dataStreamIntID,
    dataTransType: template.dataTransType,
    enum: template.enum,
    places: template.places,
    defaultValues: template.defaultValues,
    instanceID: template.instanceID,
    createAt: stamp(template.createAt),
    updateAt: stamp(template.updateAt),
  };
}

function names(template: AppTemplate, { label }: Labelled) {
  return {
    templateTypeLabel: label("templateType", template.templateType),
    dataPointName: template.dataPointName,
    dataStreamName: template.dataStreamName,
  };
}

export function appTemplateStored(template: AppTemplate, context: Labelled) {
  return {
    ...common(template, context),
    itemID: template.itemID,
    itemName: template.itemName,
    itemOperations: template.itemOperations,
    objectID: template.objectID,
  };
}

export function appTemplateListed(template: AppTemplate, context: Labelled) {
  return { ...appTemplateStored(template, context), ...names(template, context) };
}

/** A template as a device's console shows it, with the newest value of its data point. */
export interface ConsoleTemplate extends AppTemplate {
  readonly newest: Newest;
}

export function consoleTemplate(template: ConsoleTemplate, context: Labelled) {
  const { newest } = template;
  return {
    ...common(template, context),
    ...names(template, context),
    ...toNewestFields(newest, ({ value }) => valueText(value)),
  };
}

import {
  type Actor,
  deleteStatements,
  differing,
  insertStatements,
  updateStatements,
} from "../db/changes.js";
import type { Db, SqlValue, Statement } from "../db/db.js";
import { listRows } from "../db/list-rows.js";
import { formatBytesSql } from "../db/page-bytes.js";
import {
  fromJson,
  getRow,
  integerColumn,
  type Listing,
  type Page,
  type PageRequest,
  stamps,
  textColumn,
} from "../db/table.js";

type Enum = readonly { value: unknown; label: unknown }[] | null;

/** A data point that an app shows or sets at first, as it is now, with a value. */
interface DefaultValue {
  readonly id: number;
  readonly dataPointID: string;
  readonly dataPointName: string;
  readonly enum: Enum;
  readonly pointDataType: number;
  readonly value: unknown;
}

/** A control of an app, bound to a data point of its product. */
export interface AppTemplate {
  readonly id: number;
  readonly tenant: number;
  readonly productIntID: number;
  readonly productID: string;
  readonly templateName: string;
  readonly templateType: number;
  readonly dataPointIntID: number;
  readonly dataPointID: string;
  readonly dataPointName: string;
  readonly pointDataType: number;
  /** The series field of the data point. */
  readonly field: string;
  readonly dataTransType: number;
  readonly enum: Enum;
  readonly dataStreamIntID: number | null;
  readonly dataStreamName: string | null;
  /** The template's own topic, or else its stream's. */
  readonly topic: string | null;
  readonly places: readonly number[] | null;
  readonly defaultValues: readonly DefaultValue[];
  readonly productItemIntID: number | null;
  readonly instanceID: number | null;
  readonly itemID: number | null;
  readonly itemName: string | null;
  readonly itemOperations: string | null;
  readonly objectID: number | null;
  readonly createAt: number;
  readonly updateAt: number | null;
}

const topic = "coalesce(r.topic, s.topic)";

const listing: Listing = {
  bytes: formatBytesSql("r.places", 'd."enum"'),
  select: `r.id, r.tenant, r.productIntID, p.productID, r.templateName, r.templateType, r.dataPointIntID,
    d.dataPointID, d.dataPointName, d.pointDataType, d.field, d.dataTransType, d."enum", r.dataStreamIntID,
    s.streamName dataStreamName, ${topic} topic, r.places, r.productItemIntID, r.instanceID, r.itemID,
    r.itemName, r.itemOperations, r.objectID, r.createAt, r.updateAt`,
  from: `app_template r join product p on p.id = r.productIntID join data_point d on d.id = r.dataPointIntID
    left join data_stream s on s.id = r.dataStreamIntID`,
  filters: {
    productID: { column: "p.productID", type: "text" },
    productIntID: integerColumn("productIntID"),
    templateName: textColumn("templateName"),
    templateType: integerColumn("templateType"),
    topic: { column: topic, type: "text" },
    dataPointIntID: integerColumn("dataPointIntID"),
    dataPointID: { column: "d.dataPointID", type: "text" },
    dataPointName: { column: "d.dataPointName", type: "text" },
    dataTransType: { column: "d.dataTransType", type: "integer" },
    dataStreamIntID: integerColumn("dataStreamIntID"),
    dataStreamName: { column: "s.streamName", type: "text" },
    productItemIntID: integerColumn("productItemIntID"),
    instanceID: integerColumn("instanceID"),
    itemID: integerColumn("itemID"),
    itemName: textColumn("itemName"),
    itemOperations: textColumn("itemOperations"),
    objectID: integerColumn("objectID"),
    ...stamps,
  },
};

export const appTemplateFilters = listing.filters;
export const appTemplateIDs = { name: "app_template", column: null } as const;

type Row = Omit<AppTemplate, "enum" | "places" | "defaultValues"> & {
  readonly enum: string | null;
  readonly places: string | null;
};

export async function listAppTemplates(
  db: Db,
  tenant: number,
  request: PageRequest,
  scope?: Statement,
): Promise<Page<AppTemplate>> {
  const page = await listRows<Row>(db, listing, tenant, request, scope);
  return { ...page, items: await complete(db, page.items) };
}

/** The templates of one product. */
export function templatesOfProduct(
  db: Db,
  tenant: number,
  request: PageRequest,
  productIntID: number,
): Promise<Page<AppTemplate>> {
  return listAppTemplates(db, tenant, request, { sql: "r.productIntID = ?", args: [productIntID] });
}

/** @throws StoreError NOT_FOUND */
export async function getAppTemplate(db: Db, tenant: number, id: number): Promise<AppTemplate> {
  const row = await getRow<Row>(db, listing, tenant, id);
  const [template] = await complete(db, [row]);
  return template ?? toTemplate(row, []);
}

type DefaultRow = Omit<DefaultValue, "enum" | "value"> & {
  readonly template: number;
  readonly enum: string | null;
  readonly value: string;
};

async function complete(db: Db, rows: readonly Row[]): Promise<AppTemplate[]> {
  if (rows.length === 0) return [];
  const defaults = await db.all<DefaultRow>(
    `select v.templateIntID template, d.id, d.dataPointID, d.dataPointName, d."enum", d.pointDataType, v.value
     from template_default v join data_point d on d.id = v.dataPointIntID
     where v.templateIntID in (select value from json_each(?)) order by v.templateIntID, v.ordinal`,
    [rows.map((row) => row.id)],
  );
  const byTemplate = new Map<number, DefaultValue[]>(rows.map((row) => [row.id, []]));
  for (const { template, value, ...point } of defaults) {
    byTemplate.get(template)?.push({ ...point, enum: fromJson(point.enum), value: JSON.parse(value) });
  }
  return rows.map((row) => toTemplate(row, byTemplate.get(row.id) ?? []));
}

function toTemplate(row: Row, defaultValues: readonly DefaultValue[]): AppTemplate {
  return { ...row, enum: fromJson(row.enum), places: fromJson(row.places), defaultValues };
}

export interface AppTemplateInput
  extends Partial<
    Pick<
      AppTemplate,
      | "templateName"
      | "templateType"
      | "dataPointIntID"
      | "dataStreamIntID"
      | "topic"
      | "places"
      | "productItemIntID"
      | "instanceID"
      | "itemID"
      | "itemName"
      | "itemOperations"
      | "objectID"
    >
  > {
  readonly defaultValues?: readonly { readonly id: number; readonly value?: unknown }[];
}

function toColumns({ defaultValues: _, places, ...rest }: AppTemplateInput): Record<string, SqlValue> {
  const columns = { ...rest } as Record<string, SqlValue>;
  if (places !== undefined) columns.places = places === null ? null : JSON.stringify(places);
  return columns;
}

/** `template` is SQL for the template's id. */
function defaultStatements(
  template: number | "last",
  values: AppTemplateInput["defaultValues"] = [],
): Statement[] {
  return values.map(({ id, value }, ordinal) => ({
    sql: `insert into template_default (templateIntID, ordinal, dataPointIntID, value)
      values (${template === "last" ? "(select max(id) from app_template)" : template}, ?, ?, ?)`,
    args: [ordinal, id, JSON.stringify(value ?? null)],
  }));
}

export async function createAppTemplate(
  db: Db,
  actor: Actor,
  now: number,
  productIntID: number,
  input: AppTemplateInput,
): Promise<AppTemplate> {
  const results = await db.write([
    ...insertStatements("app_template", actor, now, { productIntID, ...toColumns(input) }, input),
    ...defaultStatements("last", input.defaultValues),
  ]);
  return getAppTemplate(db, actor.tenant, Number(results[0]?.lastInsertRowid));
}

export async function updateAppTemplate(
  db: Db,
  actor: Actor,
  now: number,
  id: number,
  input: AppTemplateInput,
): Promise<AppTemplate> {
  const template = await getAppTemplate(db, actor.tenant, id);
  const stored = template.defaultValues.map((one) => ({ id: one.id, value: one.value }));
  const edit = differing({ ...template, defaultValues: stored }, input);
  const defaults =
    edit.defaultValues === undefined
      ? []
      : [
          { sql: "delete from template_default where templateIntID = ?", args: [id] },
          ...defaultStatements(id, edit.defaultValues),
        ];
  await db.write([...updateStatements("app_template", actor, now, id, toColumns(edit), edit), ...defaults]);
  return getAppTemplate(db, actor.tenant, id);
}

export async function removeAppTemplates(
  db: Db,
  actor: Actor,
  now: number,
  ids: readonly number[],
): Promise<void> {
  await db.write(deleteStatements("app_template", actor, now, ids));
}

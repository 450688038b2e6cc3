/** Forms of the console, taken from the description of the API: what a body may hold is said once. */

/** The part of JSON Schema that is looked at. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

interface ApiDocument {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** How a field is asked for; `json` is everything that is neither one value nor a list of choices. */
type Kind = "text" | "long" | "password" | "integer" | "number" | "choice" | "choices" | "boolean" | "json";

interface FormField {
  readonly name: string;
  readonly kind: Kind;
  readonly isRequired: boolean;
  /** The values of a choice field. */
  readonly choices?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly hint?: string;
}

interface Form {
  readonly create: readonly FormField[];
  /** Empty where nothing can be edited. */
  readonly edit: readonly FormField[];
}

/** Misspelt and older names that the API takes as well. */
const otherNames: ReadonlySet<string> = new Set([
  ...["modBuxIndex", "gatewayMAC", "consoleIP", "consolePort", "consoleUsername"],
  ...["expressionsLabel", "productIntID"],
]);
const longFrom = 1024;

/** Every pair of schemas `…Create` and `…Edit`, by the name that they share. */
export function formsOf({ components: { schemas } }: ApiDocument): Readonly<Record<string, Form>> {
  const names = Object.keys(schemas).flatMap((name) => /^(.+)Create$/.exec(name)?.[1] ?? []);
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        create: fieldsOf(schemas[`${name}Create`], schemas),
        edit: fieldsOf(schemas[`${name}Edit`], schemas).filter((field) => !isFixed(name, field.name)),
      },
    ]),
  );

  /** An edit takes it only as it is: the description says nothing of its form. */
  function isFixed(form: string, field: string): boolean {
    const [created, edited] = ["Create", "Edit"].map((kind) => schemas[form + kind]?.properties?.[field]);
    const isPlain = created?.type !== undefined || created?.enum !== undefined;
    return isPlain && edited !== undefined && Object.keys(edited).length === 0;
  }
}

function fieldsOf(schema: Schema | undefined, schemas: Readonly<Record<string, Schema>>): FormField[] {
  const properties = schema?.properties ?? {};
  const isHidden = (name: string): boolean =>
    otherNames.has(name) && !(name === "productIntID" && properties.productID === undefined);
  return Object.entries(properties)
    .filter(([name]) => !isHidden(name))
    .map(([name, given]) =>
      fieldOf(name, resolved(given, schemas), schema?.required?.includes(name) === true),
    )
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

function resolved(schema: Schema, schemas: Readonly<Record<string, Schema>>): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (schemas[name] ?? schema);
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): FormField {
  const { description, maxLength, minimum, maximum } = schema;
  const choices = choicesOf(schema.enum) ?? choicesOf(schema.items?.enum);
  return {
    name,
    kind: kindOf(name, schema),
    isRequired,
    ...(choices === undefined ? {} : { choices }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(description === undefined ? {} : { hint: description }),
  };
}

function choicesOf(all: readonly unknown[] | undefined): (string | number)[] | undefined {
  return all?.filter((one): one is string | number => typeof one === "string" || typeof one === "number");
}

function kindOf(name: string, { type, enum: choices, items, maxLength = 0 }: Schema): Kind {
  const types = typeof type === "string" ? [type] : (type ?? []);
  if (choices !== undefined) return "choice";
  if (/password/i.test(name)) return "password";
  if (types.includes("string")) return maxLength >= longFrom ? "long" : "text";
  if (types.includes("integer")) return "integer";
  if (types.includes("number")) return "number";
  if (types.includes("boolean")) return "boolean";
  return types.includes("array") && items?.enum !== undefined ? "choices" : "json";
}

import { type ErrorCode, errorStatus } from "../http/errors.js";
import { type Document, type Media, resolve } from "./close-schemas.js";
import { hasForm, type RecordedExample, readExamples } from "./recorded.js";
import { errorText } from "./texts.js";

/** Examples of bodies and answers, as the conformance run sent and received them. */

export const errorExamples = Object.fromEntries(
  (Object.keys(errorStatus) as ErrorCode[]).map((errorCode) => [
    errorCode,
    {
      value: {
        errorCode,
        message: errorText[errorCode].replaceAll("`", ""),
        errors: errorCode === "PARAMETER_INVALID" ? { _limit: "must be a whole number from 1 to 1000" } : {},
      },
    },
  ]),
);

export function addExamples(document: Document): void {
  const [a, b] = [readExamples("A"), readExamples("B")];
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries(operations)) {
      const places = { request: requestBody, ...responses };
      for (const [place, { content }] of Object.entries(places).flatMap(present)) {
        const media = content?.["application/json"];
        if (media === undefined) continue;
        const operation = `${method} ${path}`;
        illustrate(document, media, labelled(a[operation]?.[place] ?? [], b[operation]?.[place] ?? []));
      }
    }
  }
}

function present<Value>([key, value]: readonly [string, Value | undefined]): [string, Value][] {
  return value === undefined ? [] : [[key, value]];
}

interface LabelledExample {
  readonly label: string;
  readonly value: unknown;
}

function illustrate(document: Document, media: Media, found: readonly LabelledExample[]): void {
  const [only, ...others] = found;
  if (only === undefined) {
    const { example } = resolve(document, media.schema ?? {});
    if (example !== undefined) media.example = example;
  } else if (others.length === 0) media.example = only.value;
  else {
    media.examples = Object.fromEntries(
      found.map(({ label, value }) => [label.replaceAll(/\W+/g, "-"), { summary: label, value }]),
    );
  }
}

/** Each form once, labelled by its variant if only one has it, or by its name if both have alternatives. */
function labelled(a: readonly RecordedExample[], b: readonly RecordedExample[]): LabelledExample[] {
  const onlyB = b.filter(({ form }) => !hasForm(a, form));
  const name = (one: RecordedExample, others: readonly RecordedExample[], variant: string): string => {
    const word = formatFormName(one.form);
    if (onlyB.length === 0 || hasForm(a, one.form) === hasForm(b, one.form)) return word;
    return others.length > 1 ? `${variant}: ${word}` : variant;
  };
  return [
    ...a.map((one) => ({ label: name(one, a, "Variant A"), value: one.value })),
    ...onlyB.map((one) => ({ label: name(one, b, "Variant B"), value: one.value })),
  ];
}

/** `DataStreamCreate` → data stream */
function formatFormName(form: string | null): string {
  const name = (form ?? "").replace(/(Create|Edit|Stored|Detail|Listed)?B?$/, "");
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

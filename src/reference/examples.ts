import { type ErrorCode, errorStatus } from "../http/errors.js";
import { type Document, type Media, resolve } from "./close-schemas.js";
import { examplesOfA } from "./examples-of-a.js";
import { examplesOfB } from "./examples-of-b.js";
import type { RecordedExample } from "./recorded.js";
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
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries(operations)) {
      const places = { request: requestBody, ...responses };
      for (const [place, { content }] of Object.entries(places).flatMap(present)) {
        const media = content?.["application/json"];
        if (media !== undefined) illustrate(document, media, `${method} ${path}`, place);
      }
    }
  }
}

function present<Value>([key, value]: readonly [string, Value | undefined]): [string, Value][] {
  return value === undefined ? [] : [[key, value]];
}

function illustrate(document: Document, media: Media, operation: string, place: string): void {
  const found = labelled(examplesOfA[operation]?.[place] ?? [], examplesOfB[operation]?.[place] ?? []);
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
function labelled(a: readonly RecordedExample[], b: readonly RecordedExample[]) {
  const isIn = (all: readonly RecordedExample[], { form }: RecordedExample) =>
    all.some((one) => one.form === form);
  const onlyB = b.filter((one) => !isIn(a, one));
  const name = (one: RecordedExample, others: readonly RecordedExample[], variant: string): string => {
    const word = wordOf(one.form);
    if (onlyB.length === 0 || isIn(a, one) === isIn(b, one)) return word;
    return others.length > 1 ? `${variant}: ${word}` : variant;
  };
  return [
    ...a.map((one) => ({ label: name(one, a, "Variant A"), value: one.value })),
    ...onlyB.map((one) => ({ label: name(one, b, "Variant B"), value: one.value })),
  ];
}

/** `DataStreamCreate` → data stream */
function wordOf(form: string | null): string {
  const name = (form ?? "").replace(/(Create|Edit|Stored|Detail|Listed)?B?$/, "");
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

/** Examples of bodies and answers, recorded by the conformance run. */
import { readFileSync } from "node:fs";

export interface RecordedExample {
  /** The schema of the example, if the body or answer may have one of several. */
  readonly form: string | null;
  readonly value: unknown;
}

/** `get /api/v1/devices` → `request`, or the status → one example of each form. */
export type RecordedExamples = Readonly<Record<string, Readonly<Record<string, readonly RecordedExample[]>>>>;

/** The file is read from the sources: only the build and the tests need it. */
export const recordedFile = (variant: "A" | "B"): URL =>
  new URL(`../../../src/reference/examples-of-${variant.toLowerCase()}.json`, import.meta.url);

/** All examples of Variant A; those of Variant B where one of them has a form that Variant A does not have. */
export function readExamples(variant: "A" | "B"): RecordedExamples {
  return JSON.parse(readFileSync(recordedFile(variant), "utf8")) as RecordedExamples;
}

/** Whether the examples have one of that form. */
export function hasForm(examples: readonly RecordedExample[], form: string | null): boolean {
  return examples.some((one) => one.form === form);
}

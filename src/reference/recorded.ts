/** Examples of bodies and answers, recorded by the conformance run. */

export interface RecordedExample {
  /** The schema of the example, if the body or answer may have one of several. */
  readonly form: string | null;
  readonly value: unknown;
}

/** `get /api/v1/devices` → `request`, or the status → one example of each form. */
export type RecordedExamples = Readonly<Record<string, Readonly<Record<string, readonly RecordedExample[]>>>>;

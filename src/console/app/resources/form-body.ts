/** What a form of a record is given. */
import type { Resource, Row } from "./resources.js";

export type Fields = Readonly<Record<string, unknown>>;

export interface ResourceFormProps {
  readonly resource: Resource;
  readonly form: string;
  /** Null: a new one. */
  readonly record: Row | null;
  /** What new records get besides, and what no field asks for. */
  readonly within: Readonly<Record<string, string | number>>;
  /** `made`: the new record, as the API has answered. */
  onClose(isChanged: boolean, made?: Fields): void;
}

/** The record as it is now; empty: a new one. */
export interface FormBodyProps extends ResourceFormProps {
  readonly known: Fields;
}

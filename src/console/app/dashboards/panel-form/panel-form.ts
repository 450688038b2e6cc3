import type { Panel, Variable } from "../document.js";

export interface PanelFormProps {
  readonly panel: Panel;
  readonly variables: readonly Variable[];
  onPanel(panel: Panel): void;
  onClose(): void;
}

export type FormOf<P extends Panel> = Omit<PanelFormProps, "panel"> & { readonly panel: P };

/** Without what is not there: the document has no fields that are undefined. */
export function present<P extends object>(panel: P): P {
  return Object.fromEntries(Object.entries(panel).filter(([, value]) => value !== undefined)) as P;
}

/** A dashboard while it is edited: each change can be taken back, and all of it outlives the page. */
import { useSignal } from "@preact/signals";
import type { Dashboard, DashboardDocument } from "./document.js";
import { dropDraft, keepDraft, readDraft } from "./drafts.js";

type Content = Pick<Dashboard, "name" | "description" | "document">;

const stepsMax = 100;

interface Editing {
  readonly content: Content;
  /** The version that the edit began with. */
  readonly version: number;
  readonly canUndo: boolean;
  readonly isChanged: boolean;
  change(part: Partial<Content>): void;
  changeDocument(part: Partial<DashboardDocument>): void;
  undo(): void;
  /** It is saved, or given up. */
  drop(): void;
  /** The edit goes on, as one of a newer version. */
  rebase(version: number): void;
}

export function useDraft(dashboard: Dashboard): Editing {
  const { id, name, description, document } = dashboard;
  const stored = readDraft(id);
  const base = useSignal(stored?.version ?? dashboard.version);
  const steps = useSignal<readonly Content[]>([
    { name, description, document },
    ...(stored === null
      ? []
      : [{ name: stored.name, description: stored.description, document: stored.document }]),
  ]);
  const content = steps.value.at(-1) as Content;

  function show(all: readonly Content[], version = base.value): void {
    steps.value = all;
    const newest = all.at(-1) as Content;
    if (all.length === 1) dropDraft(id);
    else keepDraft(id, { ...newest, version });
  }

  function change(part: Partial<Content>): void {
    const [first, ...rest] = steps.value as [Content, ...Content[]];
    show([first, ...rest.slice(1 - stepsMax), { ...content, ...part }]);
  }

  return {
    content,
    version: base.value,
    canUndo: steps.value.length > 1,
    isChanged: steps.value.length > 1,
    change,
    changeDocument: (part) => change({ document: { ...(steps.value.at(-1) as Content).document, ...part } }),
    undo: () => show(steps.value.slice(0, Math.max(1, steps.value.length - 1))),
    drop: () => dropDraft(id),
    rebase: (version) => {
      base.value = version;
      show(steps.value, version);
    },
  };
}

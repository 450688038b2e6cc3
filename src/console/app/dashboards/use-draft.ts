/** A dashboard while it is edited: each change can be taken back, and all of it outlives the page. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Dashboard, Panel } from "./document.js";
import { type Content, type Draft, dropDraft, keepDraft } from "./drafts.js";
import { begun, isSame, readNewestStep, type Steps, stepped, unstepped } from "./steps.js";

/** Typing is kept when there is a pause in it. */
const pauseMs = 300;

interface Editing {
  readonly content: Content;
  /** What the edit began with, and its version. */
  readonly base: Content;
  readonly version: number;
  readonly canUndo: boolean;
  readonly isChanged: boolean;
  /** The browser has stored it. */
  readonly isKept: boolean;
  change(part: Partial<Content>): void;
  /** Changes the newest panels, even if they have not been drawn yet. */
  changePanels(change: (panels: readonly Panel[]) => readonly Panel[]): void;
  undo(): void;
  /** It is given up, or saved. */
  drop(): void;
  /** The edit goes on, as one of a newer version. */
  rebase(version: number, base: Content): void;
  /** This much of it has become a version. False: there is more, and the edit goes on. */
  saved(version: number, content: Content): boolean;
}

interface State {
  readonly steps: Steps<Content>;
  readonly version: number;
}

const pickContent = ({ name, description, document }: Content): Content => ({
  name,
  description,
  document,
});

/** @param start what an earlier edit left, and what its version was */
export function useDraft(
  dashboard: Dashboard,
  start: { readonly draft: Draft; readonly base: Content } | null,
): Editing {
  const { id } = dashboard;
  const first = useRef<State | null>(null);
  first.current ??=
    start === null
      ? { steps: begun(pickContent(dashboard)), version: dashboard.version }
      : {
          steps: stepped(begun(pickContent(start.base)), pickContent(start.draft), 0),
          version: start.draft.version,
        };
  const state = useSignal<State>(first.current);
  const isKept = useSignal(true);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const { steps, version } = state.value;

  const isChanged = (): boolean => !isSame(state.value.steps[0].content, readNewestStep(state.value.steps));

  function keep(): void {
    clearTimeout(timer.current);
    timer.current = undefined;
    const { steps: all, version: of } = state.value;
    if (!isChanged()) dropDraft(id);
    else isKept.value = keepDraft(id, { ...readNewestStep(all), version: of, base: all[0].content });
  }

  function show(next: State): void {
    state.value = next;
    clearTimeout(timer.current);
    timer.current = setTimeout(keep, pauseMs);
  }

  /** It is over, and nothing is written any more. */
  const isDropped = useRef(false);
  useEffect(() => {
    const onHide = (): void => {
      if (!isDropped.current) keep();
    };
    addEventListener("pagehide", onHide);
    return () => {
      removeEventListener("pagehide", onHide);
      onHide();
    };
  }, []);

  function change(part: Partial<Content>): void {
    const { steps: all, version: of } = state.value;
    const next = stepped(all, { ...readNewestStep(all), ...part }, performance.now());
    if (next !== all) show({ steps: next, version: of });
  }

  function drop(): void {
    isDropped.current = true;
    clearTimeout(timer.current);
    dropDraft(id);
  }

  function rebase(newer: number, base: Content): void {
    const content = readNewestStep(state.value.steps);
    show({ steps: stepped(begun(pickContent(base)), content, 0), version: newer });
  }

  return {
    content: readNewestStep(steps),
    base: steps[0].content,
    version,
    canUndo: steps.length > 1,
    isChanged: isChanged(),
    isKept: isKept.value,
    change,
    changePanels: (changed) => {
      const { document } = readNewestStep(state.value.steps);
      change({ document: { ...document, panels: changed(document.panels) } });
    },
    undo: () => {
      const { steps: all, version: of } = state.value;
      const before = unstepped(all);
      const isAtEnd = before.length === 1 && of < dashboard.version;
      // A user who has undone all changes continues with the current version, not with an old one.
      show(
        isAtEnd
          ? { steps: begun(pickContent(dashboard)), version: dashboard.version }
          : { steps: before, version: of },
      );
    },
    drop,
    rebase,
    saved: (newer, content) => {
      if (isSame(content, readNewestStep(state.value.steps))) {
        drop();
        return true;
      }
      rebase(newer, content);
      return false;
    },
  };
}

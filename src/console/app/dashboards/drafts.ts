/** Drafts of edits, kept in this browser until they are saved or dropped: a page that is closed loses nothing. */
import { me } from "../session.js";
import type { Dashboard } from "./document.js";

export type Content = Pick<Dashboard, "name" | "description" | "document">;

export interface Draft extends Content {
  readonly version: number;
  /** What that version was. */
  readonly base: Content;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Another user of the same browser has drafts of his own. */
const draftPrefix = (id: number): string =>
  `tidemark.draft.${me.value?.tenantID}.${me.value?.userIntID}.${id}.`;

/** Each window keeps its own, so that two that edit the same do not take each other's away. */
const draftKey = (id: number): string => draftPrefix(id) + windowID();

const windowKey = "tidemark.window";

function windowID(): string {
  const id = sessionStorage.getItem(windowKey) ?? Math.random().toString(36).slice(2);
  sessionStorage.setItem(windowKey, id);
  return id;
}

function listDraftKeys(id: number): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(draftPrefix(id)));
}

export const hasDraft = (id: number): boolean => listDraftKeys(id).length > 0;

/**
 * The draft of this window, or the newest of another, which becomes this window's. The other may still be open: then it
 * keeps its own again when it is closed.
 */
export function takeDraft(id: number): Draft | null {
  const found = listDraftKeys(id)
    .flatMap((key) => {
      const draft = readDraft(key);
      return draft === null ? [] : [{ key, draft }];
    })
    .sort(
      (a, b) => Number(b.key === draftKey(id)) - Number(a.key === draftKey(id)) || b.draft.at - a.draft.at,
    );
  const [newest] = found;
  if (newest === undefined) return null;
  if (newest.key !== draftKey(id)) {
    localStorage.removeItem(newest.key);
    keepDraft(id, newest.draft);
  }
  return newest.draft;
}

function readDraft(key: string): Draft | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

/** Returns false if the browser's storage does not take it. */
export function keepDraft(id: number, draft: Omit<Draft, "at">): boolean {
  try {
    localStorage.setItem(draftKey(id), JSON.stringify({ ...draft, at: Date.now() }));
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(id: number): void {
  localStorage.removeItem(draftKey(id));
}

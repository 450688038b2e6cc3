/** What is being edited, kept in this browser until it is saved or given up: a page that is closed loses nothing. */
import { me } from "../session.js";
import type { Dashboard } from "./document.js";

interface Draft extends Pick<Dashboard, "name" | "description" | "version" | "document"> {
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Another user of the same browser has drafts of his own. */
const keyOf = (id: number): string => `tidemark.draft.${me.value?.tenantID}.${me.value?.userIntID}.${id}`;

export function readDraft(id: number): Draft | null {
  try {
    const text = localStorage.getItem(keyOf(id));
    return text === null ? null : (JSON.parse(text) as Draft);
  } catch {
    return null;
  }
}

/** False where the browser has no room for it. */
export function keepDraft(id: number, draft: Omit<Draft, "at">): boolean {
  try {
    localStorage.setItem(keyOf(id), JSON.stringify({ ...draft, at: Date.now() }));
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(id: number): void {
  localStorage.removeItem(keyOf(id));
}

import { t } from "../i18n.js";

interface PagerProps {
  readonly page: number;
  readonly pages: number;
  readonly count: number;
  /** What the page before and the next one are called. */
  readonly before: string;
  readonly after: string;
  onPage(page: number): void;
}

/** Leads from page to page, and says how many there are. */
export function Pager({ page, pages, count, before, after, onPage }: PagerProps) {
  const words = t("list.page", { page, pages, count });
  if (pages <= 1) return <p class="muted pages">{words}</p>;
  return (
    <p class="row pages">
      <button
        type="button"
        class="button"
        disabled={page <= 1}
        aria-label={before}
        onClick={() => onPage(page - 1)}
      >
        ←
      </button>
      <span class="muted">{words}</span>
      <button
        type="button"
        class="button"
        disabled={page >= pages}
        aria-label={after}
        onClick={() => onPage(page + 1)}
      >
        →
      </button>
    </p>
  );
}

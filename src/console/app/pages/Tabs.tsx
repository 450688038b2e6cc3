import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { formatHref, path, query } from "../router.js";
import { useCurrentInSight } from "../shell/use-current-in-sight.js";

interface Tab {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  readonly content: () => ComponentChildren;
}

/** Parts of a page; the address says which is shown. The first is shown if it says nothing. */
export function Tabs({ tabs }: { readonly tabs: readonly Tab[] }) {
  const shown = tabs.find(({ name }) => name === query.value.tab) ?? tabs[0];
  const links = useRef<HTMLElement>(null);
  useCurrentInSight(links, shown?.name);
  return (
    <>
      <nav class="tabs" ref={links}>
        {tabs.map(({ name, title }, i) => (
          <a
            key={name}
            href={formatHref(path.value, i === 0 ? {} : { tab: name })}
            aria-current={name === shown?.name ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <div key={shown?.name}>{shown?.content()}</div>
    </>
  );
}

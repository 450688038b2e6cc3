import { pageBytesMax } from "../../store/metadata/db/page-bytes.js";
import type { Page } from "../../store/metadata/db/table.js";

/** Owners whose devices are read at once: up to a thousand ids each. */
const ownersAtOnce = 50;
/** Bytes that an id takes in an answer. */
const idBytes = 16;

/** Rows of Variant B with the ids of their devices, as many rows as the page's limit of bytes allows. */
export async function pageWithDevices<Row, Shown extends { readonly devices?: readonly number[] }>(
  page: Page<Row>,
  withDevices: (rows: Row[]) => Promise<readonly Shown[]>,
  truncated: (row: Shown) => boolean,
): Promise<Page<Shown>> {
  const items: Shown[] = [];
  let ids = 0;
  while (items.length < page.items.length && ids * idBytes <= pageBytesMax) {
    const some = await withDevices(page.items.slice(items.length, items.length + ownersAtOnce));
    for (const row of some) {
      items.push(row);
      ids += row.devices?.length ?? 0;
    }
  }
  const cut = page.truncated === true || items.length < page.items.length;
  return { ...page, items, truncated: cut || items.some(truncated) };
}

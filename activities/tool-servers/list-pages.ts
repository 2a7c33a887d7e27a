/** Walks all pages of a list, bounded, and stops where a cursor comes back that was there before. Pure of I/O. */

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

const mostPages = 100;
const mostItems = 2_000;

export interface WalkedPages<Item> {
  readonly items: readonly Item[];
  /** Why the walk ended before the last page; null: it did not. */
  readonly stopped: string | null;
}

/** @param fetchPage gets the cursor; undefined for the first page. */
export async function walkPages<Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<WalkedPages<Item>> {
  const items: Item[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await fetchPage(cursor);
    items.push(...page.items);
    if (items.length > mostItems) {
      return {
        items: items.slice(0, mostItems),
        stopped: `more than ${mostItems} tools: the rest is left out`,
      };
    }
    const next = page.nextCursor;
    if (next === undefined || next === '') return { items, stopped: null };
    if (seen.has(next)) return { items, stopped: 'its list of tools runs in a circle' };
    seen.add(next);
    cursor = next;
  }
  return { items, stopped: `more than ${mostPages} pages of tools: the rest is left out` };
}

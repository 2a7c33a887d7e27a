/** Where in a YAML text something of its value is written. Pure. */
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, type Document, type Pair } from 'yaml';

/**
 * @param path as zod names a place. What is not there is looked for in what would hold it.
 * @returns offset of the entry's key, or of the item of a list; null: the text has nothing to point at.
 */
export function offsetOf(document: Document, path: readonly PropertyKey[]): number | null {
  let node: unknown = document.contents;
  let offset = startOf(node);
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair: Pair | undefined = node.items.find(({ key }) => keyOf(key) === String(step));
      if (pair === undefined) break;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === 'number') {
      const item: unknown = node.items[step];
      if (item === undefined) break;
      offset = startOf(item) ?? offset;
      node = item;
    } else break;
  }
  return offset;
}

function keyOf(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

function startOf(node: unknown): number | null {
  if (isPair(node)) return startOf(node.key);
  return isNode(node) ? (node.range?.[0] ?? null) : null;
}

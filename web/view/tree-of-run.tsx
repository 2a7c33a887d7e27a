/** The tree that a run belongs to: each run with its own cost and that of all below it. */
import { useEffect, useState } from 'preact/hooks';
import { get, wordsOf } from '../api/request.ts';
import type { RunTree } from '../api/types.ts';
import { watchRuns } from '../model/live.ts';
import { TreeTable } from './tree-table.tsx';

const everyMs = 2_000;

export function TreeOfRun({ handle }: { readonly handle: string }) {
  const [tree, setTree] = useState<RunTree | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | null = null;
    let root = handle;
    const read = async (): Promise<void> => {
      timer = null;
      try {
        const found = await get<RunTree>(`tree/${handle}`, { signal: ended.signal });
        root = found.root;
        setTree(found);
        setFault(null);
      } catch (error) {
        if (!ended.signal.aborted) setFault(wordsOf(error));
      }
    };
    const unwatch = watchRuns((run) => {
      if (run === null || run.root === root) timer ??= setTimeout(() => void read(), everyMs);
    });
    void read();
    return () => {
      ended.abort();
      unwatch();
      if (timer !== null) clearTimeout(timer);
    };
  }, [handle]);
  if (tree !== null) return <TreeTable tree={tree} current={handle} />;
  return fault === null ? <p class="hint">Reading …</p> : <p class="fault">{fault}</p>;
}

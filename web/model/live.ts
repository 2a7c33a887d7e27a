/** Keeps everything that is shown up to date: one stream of events for the whole page. */
import { signal } from '@preact/signals';
import { listen } from '../api/event-stream.ts';
import { get } from '../api/request.ts';
import type { Me, Run } from '../api/types.ts';
import { loadApprovals, noteApproval, noteApprovals } from './approvals.ts';
import { followConfig } from './config.ts';
import { notePool } from './pool.ts';
import { noteRun, reload } from './run-list.ts';

export const me = signal<Me | null>(null);
/** Temporal cannot be asked now; null: it can. */
export const trouble = signal<string | null>(null);

const watchers = new Set<(run: Run | null) => void>();

/** Told of each change of a run; null: some may have been missed. @returns what ends it. */
export function watchRuns(watcher: (run: Run | null) => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

let current: AbortController | null = null;

/** Begins anew, such as with another token. */
export function goLive(): void {
  current?.abort();
  const own = new AbortController();
  current = own;
  followConfig(own.signal);
  let first = true;
  const readMe = async (): Promise<void> => {
    me.value = await get<Me>('me', { signal: own.signal }).catch(() => null);
  };
  void listen(
    {
      ready({ missed }) {
        // It came back, and all that happened meanwhile is told.
        if (!first && !missed) return;
        first = false;
        void readMe();
        void reload();
        void loadApprovals();
        for (const watcher of watchers) watcher(null);
      },
      run({ run }) {
        noteRun(run);
        noteApprovals(run);
        for (const watcher of watchers) watcher(run);
      },
      approval: noteApproval,
      pool: notePool,
      trouble({ fault }) {
        trouble.value = fault;
      },
    },
    own.signal,
  );
}

/**
 * The runs of the list: read by page, then kept up to date by events. Each run is a signal of its own, so
 * that a change draws one row; changes that come together are taken in together. Bounded: who wants to see
 * more runs than are kept filters them.
 */
import { batch, computed, signal, type Signal } from '@preact/signals';
import { get, wordsOf } from '../api/request.ts';
import type { Run, RunPage } from '../api/types.ts';
import { filterFrom, filterQuery, inOrder, listQuery, shows, type Filter } from './run-order.ts';

/** So few that drawing them is no long frame, on a slow machine either. */
const pageSize = 40;
/** Rows that are kept. */
export const mostRuns = 5_000;
/** An empty page may have a next one, when a text is looked for. */
const mostEmptyPages = 5;

export const filter = signal<Filter>(filterFrom(new URLSearchParams()));
export const handles = signal<readonly string[]>([]);
export const nextCursor = signal<string | null>(null);
export const loading = signal(false);
export const fault = signal<string | null>(null);
/** Its first page is there. */
export const loaded = signal(false);

const runs = new Map<string, Signal<Run>>();
let reading: AbortController | null = null;
let waiting = new Map<string, Run>();
let frame: ReturnType<typeof setTimeout> | null = null;

export const isFull = computed(() => handles.value.length >= mostRuns);

export function runOf(handle: string): Signal<Run> | undefined {
  return runs.get(handle);
}

/** Reads the list again from its start; what is shown stays until the new one is there. */
export async function reload(): Promise<void> {
  await readPages(null, (found) => {
    runs.clear();
    take(found);
    handles.value = sorted([...runs.keys()]);
    loaded.value = true;
  });
}

export function setFilter(next: Filter): void {
  if (filterQuery(next) === filterQuery(filter.value) && loaded.value) return;
  filter.value = next;
  void reload();
}

export async function loadMore(): Promise<void> {
  if (loading.value || nextCursor.value === null || isFull.value) return;
  await readPages(nextCursor.value, (found) => {
    take(found);
    handles.value = sorted([...runs.keys()]);
  });
}

async function readPages(from: string | null, done: (found: readonly Run[]) => void): Promise<void> {
  reading?.abort();
  const own = new AbortController();
  reading = own;
  loading.value = true;
  try {
    const page = await readPage(from, own.signal);
    batch(() => {
      done(page.runs);
      nextCursor.value = page.nextCursor;
      fault.value = null;
    });
  } catch (error) {
    if (!own.signal.aborted) fault.value = wordsOf(error);
  } finally {
    if (reading === own) loading.value = false;
  }
}

async function readPage(from: string | null, ended: AbortSignal): Promise<RunPage> {
  let cursor = from;
  for (let pages = 1; ; pages += 1) {
    const query = listQuery(filter.peek(), cursor, pageSize);
    const page = await get<RunPage>(`runs?${query}`, { signal: ended });
    if (page.runs.length > 0 || page.nextCursor === null || pages === mostEmptyPages) return page;
    cursor = page.nextCursor;
  }
}

function take(found: readonly Run[]): void {
  for (const run of found) {
    const known = runs.get(run.handle);
    if (known === undefined) runs.set(run.handle, signal(run));
    else known.value = run;
  }
}

function sorted(all: readonly string[]): string[] {
  const known = all.flatMap((handle) => runs.get(handle)?.peek() ?? []);
  const kept = known.toSorted(inOrder).slice(0, mostRuns);
  for (const { handle } of known.slice(mostRuns)) runs.delete(handle);
  return kept.map(({ handle }) => handle);
}

/** A change of a run, taken in with all others of this moment. */
export function noteRun(run: Run): void {
  waiting.set(run.handle, run);
  frame ??= setTimeout(takeWaiting, 100);
}

function takeWaiting(): void {
  frame = null;
  const changes = waiting;
  waiting = new Map();
  if (!loaded.value) return;
  batch(() => {
    let moved = false;
    for (const run of changes.values()) moved = takeChange(run) || moved;
    if (moved) handles.value = sorted([...runs.keys()]);
  });
}

/** @returns whether the order may be another one now. */
function takeChange(run: Run): boolean {
  const known = runs.get(run.handle);
  const isShown = shows(filter.value, run);
  if (known === undefined) {
    if (!isShown) return false;
    runs.set(run.handle, signal(run));
    return true;
  }
  if (!isShown) return runs.delete(run.handle);
  const before = known.peek();
  known.value = run;
  return before.endedAt !== run.endedAt || before.status !== run.status;
}

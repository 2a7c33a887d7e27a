/** The list of runs: filters, rows, and more of them as one gets to its end. */
import { useEffect, useRef } from 'preact/hooks';
import {
  fault,
  filter,
  handles,
  isFull,
  loaded,
  loading,
  loadMore,
  mostRuns,
  nextCursor,
  reload,
  setFilter,
} from '../model/run-list.ts';
import { filterFrom } from '../model/run-order.ts';
import { Filters } from './filters.tsx';
import { RunRow } from './run-row.tsx';

export function RunsView({ query }: { readonly query: URLSearchParams }) {
  const text = query.toString();
  useEffect(() => setFilter(filterFrom(new URLSearchParams(text))), [text]);
  return (
    <section aria-labelledby="runs-title">
      <h2 id="runs-title" class="unseen">
        Runs
      </h2>
      <Filters />
      {fault.value !== null && (
        <p class="banner" role="alert">
          The runs could not be read: {fault.value}{' '}
          <button type="button" onClick={() => void reload()}>
            Try again
          </button>
        </p>
      )}
      <Rows />
      <End />
    </section>
  );
}

function Rows() {
  const list = handles.value;
  if (loaded.value && list.length === 0 && nextCursor.value === null) {
    return <p class="empty card">No runs that fit. Spawn one, or change the filter.</p>;
  }
  return (
    <ul class="rows" aria-label="Runs" aria-busy={loading.value} onKeyDown={moveFocus}>
      {list.map((handle) => (
        <RunRow key={handle} handle={handle} showParent={filter.value.children} />
      ))}
    </ul>
  );
}

/** Arrow keys go from row to row, Home and End to the first and the last. */
function moveFocus(event: KeyboardEvent): void {
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('a.row-link')];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: Math.min(rows.length - 1, at + 1),
    ArrowUp: Math.max(0, at - 1),
    Home: 0,
    End: rows.length - 1,
  };
  const target = targets[event.key];
  if (target === undefined) return;
  event.preventDefault();
  rows[target]?.focus();
}

function End() {
  const mark = useRef<HTMLDivElement>(null);
  const cursor = nextCursor.value;
  useEffect(() => {
    if (mark.current === null || cursor === null) return undefined;
    // Before one gets there.
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) void loadMore();
      },
      { rootMargin: '600px' },
    );
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [cursor]);
  return (
    <div class="list-end" ref={mark}>
      <p role="status">
        {loading.value ? 'Reading …' : loaded.value ? `${handles.value.length} shown` : ''}
        {isFull.value && `, the most that are shown (${mostRuns}): use the filter to see others`}
      </p>
      {cursor !== null && !isFull.value && (
        <button type="button" disabled={loading.value} onClick={() => void loadMore()}>
          Show more
        </button>
      )}
    </div>
  );
}

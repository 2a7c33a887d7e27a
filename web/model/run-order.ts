/** Which runs a filter shows, and in which order: as the server lists them. Pure. */
import type { Run, RunStatus, ServiceClass } from '../api/types.ts';

export interface Filter {
  /** Empty: any. */
  readonly statuses: readonly RunStatus[];
  readonly class: ServiceClass | null;
  readonly text: string;
  /** Empty: any. */
  readonly caller: string;
  /** Also those that were spawned by others. */
  readonly children: boolean;
}

export const allStatuses: readonly RunStatus[] = [
  'Running',
  'AwaitingApproval',
  'Completed',
  'Failed',
  'Cancelled',
];

export function isAtWork(status: RunStatus): boolean {
  return status === 'Running' || status === 'AwaitingApproval';
}

export function filterFrom(query: URLSearchParams): Filter {
  const statuses = (query.get('status') ?? '').split(',');
  const serviceClass = query.get('class');
  return {
    statuses: allStatuses.filter((status) => statuses.includes(status)),
    class: serviceClass === 'interactive' || serviceClass === 'batch' ? serviceClass : null,
    text: query.get('text') ?? '',
    caller: query.get('caller') ?? '',
    children: query.get('children') === 'true',
  };
}

/** As it stands in the address. */
export function filterQuery(filter: Filter): string {
  const query = new URLSearchParams();
  if (filter.statuses.length > 0) query.set('status', filter.statuses.join(','));
  if (filter.class !== null) query.set('class', filter.class);
  if (filter.text !== '') query.set('text', filter.text);
  if (filter.caller !== '') query.set('caller', filter.caller);
  if (filter.children) query.set('children', 'true');
  const text = query.toString();
  return text === '' ? '#/runs' : `#/runs?${text}`;
}

/** As `/api/runs` takes it. */
export function listQuery(filter: Filter, cursor: string | null, limit: number): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (filter.statuses.length > 0) query.set('status', filter.statuses.join(','));
  if (filter.class !== null) query.set('class', filter.class);
  if (filter.text.trim() !== '') query.set('text', filter.text.trim());
  if (filter.caller !== '') query.set('caller', filter.caller);
  if (!filter.children) query.set('root', 'true');
  if (cursor !== null) query.set('cursor', cursor);
  return query.toString();
}

export function shows(filter: Filter, run: Run): boolean {
  return (
    (filter.statuses.length === 0 || filter.statuses.includes(run.status)) &&
    (filter.class === null || filter.class === run.class) &&
    (filter.caller === '' || filter.caller === run.caller) &&
    (filter.children || run.parent === null) &&
    run.task.toLowerCase().includes(filter.text.trim().toLowerCase())
  );
}

/** Those at work first, the latest start first; then those that have ended, the latest end first. */
export function inOrder(one: Run, other: Run): number {
  const oneEnded = one.endedAt !== null && !isAtWork(one.status);
  const otherEnded = other.endedAt !== null && !isAtWork(other.status);
  if (oneEnded !== otherEnded) return oneEnded ? 1 : -1;
  const oneAt = oneEnded ? (one.endedAt ?? '') : one.startedAt;
  const otherAt = otherEnded ? (other.endedAt ?? '') : other.startedAt;
  if (oneAt !== otherAt) return oneAt > otherAt ? -1 : 1;
  return one.handle < other.handle ? -1 : 1;
}

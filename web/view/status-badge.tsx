/** How a run stands, by colour, sign and word. */
import type { RunStatus } from '../api/types.ts';

const words: Readonly<Record<RunStatus, { readonly sign: string; readonly text: string }>> = {
  Running: { sign: '▶', text: 'Running' },
  AwaitingApproval: { sign: '?', text: 'Awaits approval' },
  Completed: { sign: '✓', text: 'Completed' },
  Failed: { sign: '✕', text: 'Failed' },
  Cancelled: { sign: '–', text: 'Cancelled' },
};

export function statusText(status: RunStatus): string {
  return words[status].text;
}

export function StatusBadge({ status }: { readonly status: RunStatus }) {
  const { sign, text } = words[status];
  return (
    <span class={`status ${status}`}>
      <span aria-hidden="true">{sign}</span> {text}
    </span>
  );
}

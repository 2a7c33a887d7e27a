/** Runs that wait for approval before they delete pages, and what became of it. */
import type { FormAnswer } from './mcp-clients.ts';
import type { Stack } from './stack.ts';

/** A task that deletes these pages, in one reply when there are several, and then says `done`. */
export function deleting(...pages: readonly string[]): string {
  const calls = pages.map((page) => ({ tool: 'delete_page', arguments: { page } }));
  return `delete [[sim ${JSON.stringify({ calls, parallel: true, answer: 'done' })}]]`;
}

/** How often the deletion of `page` was begun. */
export function deletionsOf(stack: Stack, page: string): number {
  return stack.tools
    .calls()
    .lines.filter(
      ({ tool, phase, arguments: given }) =>
        tool === 'delete_page' && phase === 'started' && (given as { page: string }).page === page,
    ).length;
}

export const allow: FormAnswer = { action: 'accept', content: { allow: true } };
export const decline: FormAnswer = { action: 'decline' };

/** For conditions that come about on their own. */
export const bound = { timeout: 20_000, interval: 20 };

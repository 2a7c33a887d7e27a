/**
 * The time of a workflow: that of its history, the same in every replay. Only for workflows and what
 * they hand times to; pure code gets times as arguments.
 */

/** Milliseconds since the epoch. */
export function workflowNowMs(): number {
  return new Date().getTime();
}

/** The approvals of a run in Markdown, for people at Temporal's own pages. Pure. */
import { listedApprovals, tellDecided } from './approvals.ts';
import type { Approvals } from './approvals.ts';
import { cutText } from './text.ts';

const approvalsInDetails = 5;

/** What waits, how to decide it, and what was decided last. */
export function approvalLines(approvals: Approvals): string[] {
  const open = listedApprovals(approvals);
  const lines = open
    .slice(0, approvalsInDetails)
    .flatMap((one) => [
      '',
      `Waiting for approval \`${one.id}\`: \`${one.tool}\` with`,
      '```json',
      cutText(one.arguments, 1_000).replaceAll('```', "'''"),
      '```',
    ]);
  if (open.length > approvalsInDetails) lines.push('', `and ${open.length - approvalsInDetails} more`);
  const [first] = open;
  if (first !== undefined) {
    lines.push('', `Send the signal \`approve\` with \`{"id": "${first.id}", "allow": true, "by": "me"}\``);
  }
  const last = approvals.decided.at(-1);
  if (last !== undefined) lines.push('', `Decided last: ${tellDecided(last)}`);
  if (approvals.note !== null) lines.push('', `Note: ${approvals.note}`);
  return lines;
}

/**
 * The question that is put to the person behind a client when a tool call waits for approval: a form with
 * one box, which names the tool and its arguments. The same for every era of the protocol. Pure.
 */
import { inputRequired, type ElicitRequestFormParams, type InputRequest } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Handle } from '../../contracts/ids.ts';
import type { PendingApproval } from '../../contracts/run.ts';
import { cutMiddle } from '../runs/fair-cut.ts';
import type { RunView } from '../runs/run-view.ts';

/** One tool call that waits, and the form that asks about it. */
export interface ApprovalQuestion {
  readonly handle: Handle;
  readonly approvalId: string;
  /** As the model knows it. */
  readonly tool: string;
  readonly form: ElicitRequestFormParams;
}

/** More are asked about in the next round: a person reads one form after the other. */
const maxQuestions = 16;
/** Bytes of JSON; clients show the message whole. */
const argumentBytes = 8_000;
const taskBytes = 300;

const requestedSchema: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    allow: {
      type: 'boolean',
      title: 'Allow this call',
      // A client may choose something beforehand, and Enter then says it.
      default: false,
      description: 'Yes: the tool is called, once, with exactly these arguments. No: it is not called.',
    },
  },
  required: ['allow'],
};

function messageOf({ handle, summary }: RunView, { tool, arguments: args }: PendingApproval): string {
  const shown = cutMiddle(args, argumentBytes);
  // What is whole is the JSON text of an object and ends as such; what a run has cut itself does not.
  const isWhole = shown === args && args.endsWith('}');
  const cut = isWhole ? [] : [`(cut here: this is NOT all of it; status of ${handle} shows more)`];
  return [
    `A sub-agent wants to call ${tool} with`,
    shown,
    ...cut,
    `It works on: ${cutMiddle(summary, taskBytes)} (${handle})`,
    'Allow this call?',
  ].join('\n');
}

/**
 * About the calls of `runs` that wait, oldest first within a run.
 * @param except approvals that are not asked about again.
 * @param most so many at most; default sixteen.
 */
export function approvalQuestions(
  runs: readonly RunView[],
  except: ReadonlySet<string> = new Set(),
  most = maxQuestions,
): ApprovalQuestion[] {
  return runs
    .flatMap((run) => run.pendingApprovals.map((pending) => ({ run, pending })))
    .filter(({ pending }) => !except.has(pending.id))
    .slice(0, most)
    .map(({ run, pending }) => ({
      handle: run.handle,
      approvalId: pending.id,
      tool: pending.tool,
      form: { mode: 'form' as const, message: messageOf(run, pending), requestedSchema },
    }));
}

/** Of 2026-07-28: requests that a result carries, by approval id. */
export function inputRequestsOf(questions: readonly ApprovalQuestion[]): Record<string, InputRequest> {
  return Object.fromEntries(
    questions.map(({ approvalId, form }) => [approvalId, inputRequired.elicit(form)]),
  );
}

const answerSchema = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.object({ allow: z.boolean() }).partial().nullish(),
});

/**
 * What the client's answer to the form says: true only when the form was accepted with the box ticked; a
 * decline and a form that was closed are a no. null: it is no answer to such a form, so nothing is decided.
 */
export function allowedBy(answer: unknown): boolean | null {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) return null;
  return parsed.data.action === 'accept' && parsed.data.content?.allow === true;
}

/**
 * What a caller asks for when it spawns a run, and how that becomes the input of the workflow. Pure.
 * Whether the model and the tools exist is checked elsewhere.
 */
import { z } from 'zod';
import type { Handle } from '../../contracts/ids.ts';
import {
  memoTextLimit,
  runInputSchema,
  zeroCounters,
  type BudgetLimits,
  type RunInput,
  type RunMemo,
} from '../../contracts/run.ts';
import { serviceClassSchema } from '../../contracts/service-class.ts';
import type { Asker } from './asker.ts';
import { cutMiddle, jsonBytes } from './fair-cut.ts';
import { booleanFromText, listFromText, numberFromText } from './lenient-arguments.ts';
import { UserFault } from './user-fault.ts';

export const spawnRequestSchema = z.strictObject({
  task: z
    .string()
    .min(1)
    .refine((task) => task.trim() !== '', 'says nothing; write what the sub-agent shall do')
    .describe('What to do, complete in itself: the sub-agent sees nothing else.'),
  model: z.string().min(1).optional().describe('A model of the pool. Default: its first one.'),
  serviceClass: serviceClassSchema
    .optional()
    .describe('interactive (default): somebody waits. batch: may yield to others.'),
  system: z.string().optional().describe('System prompt.'),
  maxToolCalls: numberFromText(z.int().min(0).max(10_000))
    .optional()
    .describe('After so many tool calls it must answer. Default 8.'),
  tools: listFromText(z.array(z.string().min(1)).max(256))
    .optional()
    .describe('Names from the tools tool that it may use. Default: all. []: none.'),
  maxTokens: numberFromText(z.int().min(0).max(1_000_000))
    .optional()
    .describe('Most tokens of one reply; 0: the engine decides. Default 256.'),
  parallelToolCalls: booleanFromText(z.boolean())
    .optional()
    .describe('Whether the tool calls of one reply run side by side. Default false.'),
  approveTools: listFromText(z.array(z.string().min(1)).max(256))
    .optional()
    .describe('Names from the tools tool whose calls wait for approval, beside those marked destructive.'),
  parent: z
    .string()
    .min(1)
    .optional()
    .describe('Handle of the run that this one belongs to: it ends with it and shares its budget.'),
  budgetTokens: numberFromText(z.int().min(1).max(1_000_000_000_000))
    .optional()
    .describe('Most tokens, prompt and completion, of this run and all below it.'),
  budgetToolCalls: numberFromText(z.int().min(1).max(10_000_000))
    .optional()
    .describe('Most tool calls of this run and all below it.'),
  budgetSeconds: numberFromText(z.int().min(1).max(31_536_000))
    .optional()
    .describe('Seconds after which this run and all below it end.'),
  requestId: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe('Makes a repeated call safe: the same id from you gives the same run, never a second one.'),
});
export type SpawnRequest = z.infer<typeof spawnRequestSchema>;

/** Most bytes of JSON of task and system prompt together: Temporal takes 2 MiB, and the transcript grows from here. */
export const maxPromptBytes = 1_048_576;

/** @throws UserFault when task and system prompt are too large to be kept. */
export function toRunInput(
  request: SpawnRequest,
  { caller, classCeiling }: Pick<Asker, 'caller' | 'classCeiling'>,
  traceparent?: string,
): RunInput {
  const bytes = jsonBytes(request.task) + jsonBytes(request.system ?? '');
  if (bytes > maxPromptBytes) {
    throw new UserFault(
      'invalid',
      `task and system are ${bytes} bytes together, at most ${maxPromptBytes} are taken; shorten them, or give the run a tool that reads the text`,
    );
  }
  return runInputSchema.parse({
    task: request.task,
    model: request.model ?? null,
    class: classCeiling === 'batch' ? 'batch' : request.serviceClass,
    system: request.system,
    tools: request.tools ?? null,
    maxToolCalls: request.maxToolCalls,
    maxTokens: request.maxTokens,
    parallelToolCalls: request.parallelToolCalls,
    approveTools: request.approveTools,
    budget: budgetOf(request),
    caller,
    traceparent,
  });
}

function budgetOf({ budgetTokens, budgetToolCalls, budgetSeconds }: SpawnRequest): BudgetLimits | undefined {
  const limits: BudgetLimits = {
    ...(budgetTokens === undefined ? {} : { tokens: budgetTokens }),
    ...(budgetToolCalls === undefined ? {} : { toolCalls: budgetToolCalls }),
    ...(budgetSeconds === undefined ? {} : { seconds: budgetSeconds }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}

const summaryLength = 200;

/** First line of the task that says something, cut. */
export function summaryOf(task: string): string {
  const line = task.split('\n').find((candidate) => candidate.trim() !== '') ?? task;
  const points = Array.from(line.trim());
  const limit = Math.min(summaryLength, memoTextLimit);
  return points.length <= limit ? points.join('') : `${points.slice(0, limit - 1).join('')}…`;
}

/** The memo a run starts with, so that it is told of before a worker has touched it. */
export function initialMemo(input: RunInput, handle: Handle): RunMemo {
  return {
    status: 'Running',
    phase: 'starting',
    summary: summaryOf(input.task),
    model: input.model,
    class: input.class,
    caller: input.caller,
    root: input.root ?? handle,
    parent: input.parent ?? null,
    counters: zeroCounters,
    reason: null,
    partial: null,
    startedAt: null,
    pendingApprovals: [],
    decidedApprovals: [],
    budget:
      input.budget === undefined
        ? null
        : {
            limits: input.budget,
            used: { tokens: 0, toolCalls: 0, seconds: 0 },
            exceeded: null,
            isShared: false,
          },
    spent: null,
  };
}

/** `text` for a single line of an error, never long. */
export function quoted(text: string): string {
  return `'${cutMiddle(text, 300)}'`;
}

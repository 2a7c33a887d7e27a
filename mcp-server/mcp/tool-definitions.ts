/**
 * The tools of the MCP server: name, words, arguments and what each does with the run service. Written
 * once; the factory registers them for every era and transport, in this order.
 */
import { z } from 'zod';
import { decideRequestSchema } from '../../contracts/decide.ts';
import { booleanFromText, listFromText, numberFromText } from '../runs/lenient-arguments.ts';
import { tellDecision, tellTools } from './listing-text.ts';
import { tellApprove, tellCancel, tellList, tellSpawn, tellStatus } from './run-text.ts';
import { spawnRequestSchema } from '../runs/spawn-request.ts';
import type { ToolCall, ToolDefinition, ToolDeps } from './tool-call.ts';
import { descriptions } from './tool-descriptions.ts';
import { startTask } from './start-task.ts';
import { waitAndTell } from './wait-and-tell.ts';

interface TypedDefinition<S extends z.ZodType> extends Omit<
  ToolDefinition,
  'input' | 'handle' | 'description'
> {
  readonly name: keyof typeof descriptions;
  readonly input: S;
  handle(input: z.output<S>, call: ToolCall): ReturnType<ToolDefinition['handle']>;
}

function define<S extends z.ZodType>(definition: TypedDefinition<S>): ToolDefinition {
  return {
    ...definition,
    description: descriptions[definition.name],
    handle: (input, call) => definition.handle(input as z.output<S>, call),
  };
}

const maxWaitSeconds = 600;
const defaultWaitSeconds = 45;

const handleText = z.string().min(1).describe('A handle from spawn: run_ and 22 letters and digits.');

const awaitSchema = z.strictObject({
  handles: listFromText(
    z
      .array(z.string().min(1))
      .min(1)
      .max(100, 'await 100 handles at most in one call, the others in the next one'),
  ).describe('Handles from spawn, 1 to 100.'),
  mode: z.enum(['all', 'any']).default('all').describe('all: until every run has ended. any: until one has.'),
  timeoutSeconds: numberFromText(z.number().min(0).max(maxWaitSeconds))
    .default(defaultWaitSeconds)
    .describe(`How long to wait, 0 to ${maxWaitSeconds}. Default ${defaultWaitSeconds}.`),
});

const decideShape = decideRequestSchema.shape;
const decideSchema = z.strictObject({
  input: decideShape.input.describe('The text to classify, with the question if there is one.'),
  // The answer repeats them.
  labels: listFromText(z.array(z.string().min(1).max(200)).min(2).max(20))
    .optional()
    .describe('2 to 20 labels to choose from.'),
  model: decideShape.model.describe('A model of the pool. Default: whichever can do it.'),
});

const starting = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };
const readOnly = { readOnlyHint: true, openWorldHint: false };

function spawnTool({ service }: ToolDeps): ToolDefinition {
  return define({
    name: 'spawn',
    title: 'Start a sub-agent',
    annotations: starting,
    input: spawnRequestSchema,
    handle: async (input, call) => tellSpawn(await service.spawn(input, call)),
  });
}

function awaitTool(deps: ToolDeps): ToolDefinition {
  return define({
    name: 'await',
    title: 'Wait for sub-agents',
    annotations: readOnly,
    input: awaitSchema,
    handle: async (input, call) => {
      const { handles, mode, timeoutSeconds } = input;
      const start = async () => await Promise.resolve({ handles, notes: [] });
      const waiting = { tool: 'await', input, mode, timeoutMs: timeoutSeconds * 1_000, start } as const;
      return await waitAndTell(deps, call, waiting);
    },
  });
}

function runTool(deps: ToolDeps): ToolDefinition {
  return define({
    name: 'run',
    title: 'Run a sub-agent to its end',
    annotations: starting,
    input: spawnRequestSchema,
    handle: async (input, call) => {
      if (call.takesTask === true) return await startTask(deps.service, input, call);
      const start = async () => {
        const { handle, notes } = await deps.service.spawn(input, call);
        // Whoever breaks off the call now has learned the handle all the same.
        await call.progress?.(0, maxWaitSeconds, `${handle}: started`);
        return { handles: [handle], notes };
      };
      const waiting = { tool: 'run', input, mode: 'all', timeoutMs: maxWaitSeconds * 1_000, start } as const;
      return await waitAndTell(deps, call, waiting);
    },
  });
}

function statusTool({ service }: ToolDeps): ToolDefinition {
  return define({
    name: 'status',
    title: 'See runs',
    annotations: readOnly,
    input: z.strictObject({ handle: handleText.optional() }),
    handle: async ({ handle }, call) =>
      handle === undefined
        ? tellList(await service.list(call.asker))
        : tellStatus(await service.status(handle, call.asker)),
  });
}

function cancelTool({ service }: ToolDeps): ToolDefinition {
  return define({
    name: 'cancel',
    title: 'Cancel a run',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({
      handle: handleText,
      reason: z.string().max(1_000).optional().describe('Why; kept with the run.'),
    }),
    handle: async ({ handle, reason }, call) => tellCancel(await service.cancel(handle, reason, call.asker)),
  });
}

function approveTool({ service }: ToolDeps): ToolDefinition {
  return define({
    name: 'approve',
    title: 'Decide a call that waits',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    input: z.strictObject({
      handle: handleText,
      allow: booleanFromText(z.boolean()).describe('true: the call is made. false: it is not.'),
      approvalId: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .describe('Which call, as await and status show it. Default: the only one that waits.'),
    }),
    handle: async ({ handle, allow, approvalId }, call) =>
      tellApprove(await service.approve(handle, allow, approvalId, call.asker)),
  });
}

function toolsTool({ service }: ToolDeps): ToolDefinition {
  return define({
    name: 'tools',
    title: 'List tools of sub-agents',
    annotations: readOnly,
    input: z.strictObject({}),
    handle: async () => tellTools(await service.tools()),
  });
}

function decideTool({ service }: ToolDeps): ToolDefinition {
  return define({
    name: 'decide',
    title: 'Classify a text',
    annotations: { readOnlyHint: true, openWorldHint: true },
    input: decideSchema,
    handle: async (input, call) => tellDecision(await service.decide(input, call.asker, call.signal)),
  });
}

/** The order is that of the list that clients see; it never depends on anything. */
export function defineTools(deps: ToolDeps): readonly ToolDefinition[] {
  const makers = [spawnTool, awaitTool, runTool, statusTool, cancelTool, approveTool, toolsTool, decideTool];
  return makers.map((make) => make(deps));
}

/** A sub-agent of fermata: spawned and awaited through MCP, as any client does it. */
import { z } from 'zod';
import type { ToolClient } from '../mcp-clients.ts';
import type { WorkOutcome } from './outcome.ts';
import { seenName, type SubAgentWork, type WorkTool } from './work.ts';

const spawnedSchema = z.looseObject({ handle: z.string() });
const outcomeSchema = z.looseObject({
  handle: z.string(),
  status: z.string(),
  result: z.string().nullish(),
  reason: z.string().nullish(),
  toolCalls: z.number(),
  usage: z.looseObject({ promptTokens: z.number(), completionTokens: z.number() }),
});
const awaitedSchema = z.looseObject({ runs: z.array(outcomeSchema) });

const awaitSeconds = 45;
/** A quarter of an hour: a flood holds batch runs for minutes. */
const mostRounds = 20;
const ended: readonly string[] = ['Completed', 'Failed', 'Cancelled'];

/** @returns its handle. */
export async function spawnSubAgent(client: ToolClient, work: SubAgentWork, tool: WorkTool): Promise<string> {
  const answer = await client.call('spawn', {
    task: work.task,
    serviceClass: work.plan.class,
    tools: [seenName(tool)],
    maxToolCalls: work.calls + 1,
  });
  return spawnedSchema.parse(answer).handle;
}

/** One await over all of them, and again over what is left. @throws Error when some do not end. */
export async function awaitSubAgents(
  client: ToolClient,
  handles: readonly string[],
): Promise<ReadonlyMap<string, WorkOutcome>> {
  const found = new Map<string, WorkOutcome>();
  for (let round = 0; round < mostRounds && found.size < handles.length; round += 1) {
    const open = handles.filter((handle) => !found.has(handle));
    const answer = await client.call('await', { handles: open, timeoutSeconds: awaitSeconds });
    for (const run of awaitedSchema.parse(answer).runs) {
      if (!ended.includes(run.status)) continue;
      found.set(run.handle, {
        fault: run.status === 'Completed' ? null : `${run.status}: ${run.reason ?? 'no reason'}`,
        answer: run.result ?? null,
        toolCalls: run.toolCalls,
        promptTokens: run.usage.promptTokens,
        completionTokens: run.usage.completionTokens,
      });
    }
  }
  if (found.size < handles.length) throw new Error(`${handles.length - found.size} sub-agents did not end`);
  return found;
}

export async function runSubAgent(
  client: ToolClient,
  work: SubAgentWork,
  tool: WorkTool,
): Promise<WorkOutcome> {
  const handle = await spawnSubAgent(client, work, tool);
  const outcome = (await awaitSubAgents(client, [handle])).get(handle);
  if (outcome === undefined) throw new Error(`${handle} did not end`);
  return outcome;
}

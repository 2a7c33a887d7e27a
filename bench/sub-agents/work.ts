/**
 * The work of one sub-agent, from a plan of bench/sim/workload.ts: a task whose words and directive make the
 * simulated model call a real tool as often as planned and then answer, with prompts and replies of the planned
 * lengths. The same task is given to fermata's sub-agents and to bare loops. Pure.
 */
import { promptTokens, type OfferedTool } from '../../testkit/sim-engine/core/conversation.ts';
import { tokenize } from '../../testkit/sim-engine/core/tokens.ts';
import { textOfTokens } from '../agents/words.ts';
import type { RunPlan, TurnPlan } from '../sim/workload.ts';

export interface SubAgentWork {
  readonly plan: RunPlan;
  readonly task: string;
  /** How often it calls its tool. */
  readonly calls: number;
  /** What it has to end with. */
  readonly answer: string;
}

/** `lookup` takes about a second and says what it found; `wait` takes as long as the plan says. */
export type WorkTool = 'lookup' | 'wait';

/** The name that the model sees: fermata puts the tool server's before it. */
export const toolServerName = 'demo';
export function seenName(tool: WorkTool): string {
  return `${toolServerName}__${tool}`;
}

/** What a reply has beside the words of its call. */
const callTokens: Readonly<Record<WorkTool, number>> = {
  lookup: tokenize('{"topic":""}').length + 1,
  wait: tokenize('{"milliseconds":2000}').length + 1,
};

/**
 * @param offered as it is offered to the model, with the name that it sees.
 * @throws RangeError when the plan's prompt is too short for the directive.
 */
export function workOf(plan: RunPlan, tool: WorkTool, offered: OfferedTool): SubAgentWork {
  const called = plan.turns.filter((turn) => turn.tool !== null);
  const last = plan.turns.at(-1);
  const answer = textOfTokens(plan, last?.promptTokens ?? 0, last?.outputTokens ?? 1);
  const calls = called.map((turn) => ({ tool, arguments: argumentsOf(plan, turn, tool) }));
  // `wait` takes no words: what its replies are short of is said before each call.
  const preface = tool === 'wait' ? textOfTokens(plan, 0, prefaceTokens(called)) : undefined;
  const script = { calls, answer, ...(preface === undefined ? {} : { preface }) };
  const directive = `[[sim ${JSON.stringify(script)}]]`;
  const without = promptTokens(
    [{ role: 'user', text: ` ${directive}`, toolCalls: [], toolCallId: null }],
    [offered],
  ).length;
  const wanted = (plan.turns[0]?.promptTokens ?? 0) - without;
  if (wanted < 1) {
    throw new RangeError(
      `run ${plan.id}: a first prompt of ${plan.turns[0]?.promptTokens} tokens is too short for its directive; it needs ${without + 1}`,
    );
  }
  return { plan, task: `${textOfTokens(plan, 0, wanted)} ${directive}`, calls: calls.length, answer };
}

function argumentsOf(
  plan: RunPlan,
  { promptTokens: at, outputTokens, tool: planned }: TurnPlan,
  tool: WorkTool,
) {
  if (tool === 'wait') return { milliseconds: Math.round(planned?.durationMs ?? 0) };
  return { topic: textOfTokens(plan, at, Math.max(1, outputTokens - callTokens.lookup)) };
}

function prefaceTokens(called: readonly TurnPlan[]): number {
  const mean = called.reduce((sum, { outputTokens }) => sum + outputTokens, 0) / Math.max(1, called.length);
  return Math.max(1, Math.round(mean) - callTokens.wait);
}

/**
 * What an agent with a loop of its own says, turn by turn, and what the model has to say: words that belong to
 * one run and one turn, so that a reply that came to the wrong place shows. Pure; the same number and seed give
 * the same run.
 */
import { createGenerator, hashText, nextInteger, nextRandom } from '../../testkit/sim-engine/core/random.ts';
import type { ChatMessage, Reply } from '../agents/dialogue.ts';

export interface AgentPlan {
  readonly id: string;
  readonly serviceClass: 'interactive' | 'batch';
  readonly caller: string;
  /** Says by headers whose turn it is; else the proxy has to tell from the conversation. */
  readonly named: boolean;
  /** Tells when it is over, as far as it is named; else its run is forgotten by itself. */
  readonly endsRun: boolean;
  /** Requests that it takes, the answer's included. */
  readonly turns: number;
  /** Milliseconds that its tool takes. */
  readonly toolMs: number;
}

export interface AgentShape {
  readonly fewestTurns: number;
  readonly mostTurns: number;
  readonly slowestToolMs: number;
}

const callers = ['desk', 'farm', 'lab'];
const batchShare = 0.5;
const namedShare = 0.9;
const endedShare = 0.9;

/** @param id without blanks; unique among all agents' runs. */
export function planAgent(id: string, seed: number, shape: AgentShape): AgentPlan {
  const generator = createGenerator(hashText(`agent ${id}`, seed));
  return {
    id,
    serviceClass: nextRandom(generator) < batchShare ? 'batch' : 'interactive',
    caller: callers[nextInteger(generator, 0, callers.length - 1)] ?? 'desk',
    named: nextRandom(generator) < namedShare,
    endsRun: nextRandom(generator) < endedShare,
    turns: nextInteger(generator, shape.fewestTurns, shape.mostTurns),
    toolMs: nextInteger(generator, 0, shape.slowestToolMs),
  };
}

/** The task with the script for a simulated engine. */
export function openingOf(plan: AgentPlan): readonly ChatMessage[] {
  const calls = Array.from({ length: plan.turns - 1 }, (_, turn) => ({
    tool: 'lookup',
    arguments: topicOf(plan, turn),
  }));
  const script = JSON.stringify({ calls, answer: answerOf(plan) });
  return [{ role: 'user', content: `Do the work of agent ${plan.id}. [[sim ${script}]]` }];
}

/** Whose task this is; null: of no agent. */
export function agentOfTask(task: string): string | null {
  return /^Do the work of agent (\S+)\. /.exec(task)?.[1] ?? null;
}

export const offeredTools = [
  {
    type: 'function',
    function: {
      name: 'lookup',
      description: 'Looks a topic up.',
      parameters: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
    },
  },
] as const;

/** @param turn from 0. */
export function isExpected(plan: AgentPlan, turn: number, { content, calls }: Reply): boolean {
  if (turn === plan.turns - 1) return content === answerOf(plan) && calls.length === 0;
  const [call] = calls;
  return (
    calls.length === 1 &&
    call?.name === 'lookup' &&
    call.arguments === JSON.stringify(topicOf(plan, turn)) &&
    content === ''
  );
}

/** What is added to the conversation after the reply to a turn that was not the last. */
export function afterReply({ calls, content }: Reply): readonly ChatMessage[] {
  return [
    {
      role: 'assistant',
      content: content === '' ? null : content,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      })),
    },
    ...calls.map((call): ChatMessage => ({
      role: 'tool',
      tool_call_id: call.id,
      content: `found: ${call.arguments}`,
    })),
  ];
}

function topicOf({ id }: AgentPlan, turn: number): { readonly topic: string } {
  return { topic: `${id} turn ${turn}` };
}

function answerOf({ id, turns }: AgentPlan): string {
  return `The answer of agent ${id} after ${turns} turns.`;
}

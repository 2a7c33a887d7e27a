/**
 * Agents with loops of their own behind the balancer: each does one run after the other, and asks a turn that
 * broke off again, as the same turn. Nothing that it was told is taken on trust.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import { requestHeaders } from '../../contracts/headers.ts';
import { ask, AskFault, type Answer } from '../agents/ask.ts';
import type { ChatMessage } from '../agents/dialogue.ts';
import {
  afterReply,
  isExpected,
  offeredTools,
  openingOf,
  planAgent,
  type AgentPlan,
  type AgentShape,
} from './agent-plan.ts';
import { Balancer, type Server } from './balancer.ts';

/** Adds up over all agents. */
export interface AgentTally {
  runsEnded: number;
  turnsAnswered: number;
  /** Never answered as they must be, with the reasons of the first ones. */
  turnsLost: number;
  readonly lost: string[];
  /** Requests that were sent to a server that took them, by `run:turn`. */
  readonly sent: Map<string, number>;
  /** Milliseconds since the epoch. */
  lastAnswerMs: number;
}

export interface AgentsOptions {
  readonly proxies: readonly Server[];
  readonly model: string;
  readonly agents: number;
  readonly shape: AgentShape;
  readonly seed: number;
  /** Whether connections are used again, as most clients do; else a request can be told from any other by its own. */
  readonly keepAlive: boolean;
  /** Waited for before each turn. */
  readonly mayGoOn?: () => Promise<void>;
}

export interface RunningAgents {
  readonly tally: AgentTally;
  readonly balancer: Balancer;
  /** No further runs; resolves when those under way have ended. */
  finish(): Promise<void>;
}

const turnTimeoutMs = 120_000;
/** A turn that broke off so often is lost. */
const mostTries = 50;
const retryMs = 250;
const endTimeoutMs = 10_000;
const keptLosses = 20;

export function startAgents(options: AgentsOptions): RunningAgents {
  const tally: AgentTally = {
    runsEnded: 0,
    turnsAnswered: 0,
    turnsLost: 0,
    lost: [],
    sent: new Map(),
    lastAnswerMs: Date.now(),
  };
  const balancer = new Balancer(options.proxies, whyPassedOn);
  const dispatcher = new Agent({
    connect: { timeout: 10_000 },
    headersTimeout: turnTimeoutMs,
    bodyTimeout: turnTimeoutMs,
    pipelining: options.keepAlive ? 1 : 0,
  });
  const crew = { options, tally, balancer, dispatcher };
  const finishing = new AbortController();
  const work = async (agent: number): Promise<void> => {
    for (let number = 0; !finishing.signal.aborted; number += 1) {
      await doRun(planAgent(`${agent}-${number}`, options.seed, options.shape), crew);
      tally.runsEnded += 1;
    }
  };
  const everyone = Promise.all(Array.from({ length: options.agents }, async (_, agent) => await work(agent)));
  everyone.catch(() => undefined);
  return {
    tally,
    balancer,
    async finish() {
      finishing.abort();
      await everyone;
      await dispatcher.close();
    },
  };
}

interface Crew {
  readonly options: AgentsOptions;
  readonly tally: AgentTally;
  readonly balancer: Balancer;
  readonly dispatcher: Dispatcher;
}

async function doRun(plan: AgentPlan, crew: Crew): Promise<void> {
  const { tally, options } = crew;
  const messages = [...openingOf(plan)];
  for (let turn = 0; turn < plan.turns; turn += 1) {
    await options.mayGoOn?.();
    const answer = await askUntilAnswered(plan, turn, messages, crew);
    const fault = answer === null ? 'never answered' : isExpected(plan, turn, answer) ? null : 'wrong words';
    if (answer === null || fault !== null) {
      // Those that would have followed are lost with it.
      tally.turnsLost += plan.turns - turn;
      if (tally.lost.length < keptLosses) tally.lost.push(`agent ${plan.id}, turn ${turn + 1}: ${fault}`);
      break;
    }
    tally.turnsAnswered += 1;
    tally.lastAnswerMs = Date.now();
    if (turn < plan.turns - 1) {
      messages.push(...afterReply(answer));
      await sleep(plan.toolMs);
    }
  }
  if (plan.named && plan.endsRun) await endRun(plan, crew);
}

async function askUntilAnswered(
  plan: AgentPlan,
  turn: number,
  messages: readonly ChatMessage[],
  crew: Crew,
): Promise<Answer | null> {
  for (let attempt = 1; attempt <= mostTries; attempt += 1) {
    try {
      return await crew.balancer.send(async (server) => await askServer(server, plan, turn, messages, crew));
    } catch {
      // The balancer has written it down.
      await sleep(retryMs);
    }
  }
  return null;
}

async function askServer(
  server: Server,
  plan: AgentPlan,
  turn: number,
  messages: readonly ChatMessage[],
  { options, tally, dispatcher }: Crew,
): Promise<Answer> {
  const key = `${plan.id}:${turn + 1}`;
  const sent = tally.sent.get(key) ?? 0;
  tally.sent.set(key, sent + 1);
  try {
    return await ask(dispatcher, {
      baseUrl: server.url,
      model: options.model,
      messages,
      fields: { tools: offeredTools },
      headers: plan.named ? headersOf(plan, turn) : {},
      signal: AbortSignal.timeout(turnTimeoutMs),
    });
  } catch (error) {
    // That one reached nobody.
    if (whyPassedOn(error) !== null) tally.sent.set(key, sent);
    throw error;
  }
}

function headersOf(plan: AgentPlan, turn: number): Record<string, string> {
  return {
    [requestHeaders.runId[0]]: `agent-${plan.id}`,
    [requestHeaders.serviceClass[0]]: plan.serviceClass,
    [requestHeaders.caller[0]]: plan.caller,
    [requestHeaders.turn[0]]: String(turn + 1),
  };
}

/** A proxy that is stopping has asked no engine; nor has one that is not there. */
export function whyPassedOn(error: unknown): 'refused' | 'turned-away' | null {
  if (!(error instanceof AskFault)) return null;
  if (error.code === 'ECONNREFUSED') return 'refused';
  return error.status === 503 && /"code":\s*"draining"/.test(error.message) ? 'turned-away' : null;
}

/** A run that cannot be ended is forgotten by itself. */
async function endRun(plan: AgentPlan, { balancer, dispatcher }: Crew): Promise<void> {
  await balancer
    .send(async (server) => {
      try {
        const response = await dispatcher.request({
          origin: server.url,
          method: 'DELETE',
          path: `/v1/runs/agent-${plan.id}`,
          headers: { [requestHeaders.caller[0]]: plan.caller },
          signal: AbortSignal.timeout(endTimeoutMs),
        });
        const text = await response.body.text();
        if (response.statusCode >= 500)
          throw new AskFault(`status ${response.statusCode}: ${text}`, response.statusCode);
      } catch (error) {
        if (error instanceof AskFault) throw error;
        const code = error instanceof Error && 'code' in error ? String(error.code) : null;
        throw new AskFault(error instanceof Error ? error.message : String(error), null, code);
      }
    })
    .catch(() => undefined);
}

/**
 * Agents with a loop of their own, as load: each runs one conversation after the other through the proxy,
 * with a pause where a tool would run. Failures are counted, and waited out, never hidden.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import { requestHeaders, responseHeaders } from '../../contracts/headers.ts';
import type { LoadSeen, TurnSeen } from './load-report.ts';
import type { AgentsLoad } from './options.ts';

export interface LoadTarget {
  /** Of the proxy, without `/v1`. */
  readonly proxyUrl: string;
  readonly token: string | null;
  readonly model: string;
  /** Aborted when the load has to stop at once. */
  readonly interrupted: AbortSignal;
  readonly onTurn: (turns: number, runs: number) => void;
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

const pauseAfterFailureMs = 1_000;
/** A turn may be held for long under load; nothing is gained by waiting for ever. */
const turnLimitMs = 600_000;
const mostFailureTexts = 20;

/** Runs that are under way at the end of the time come to their end, up to the limit of a turn. */
export async function runAgents(load: AgentsLoad, target: LoadTarget): Promise<LoadSeen> {
  const startedMs = performance.now();
  const turns: TurnSeen[] = [];
  const runMs: number[] = [];
  const failures = new Map<string, number>();
  const timeIsUp = (): boolean =>
    performance.now() - startedMs >= load.durationMs || target.interrupted.aborted;
  const fail = (words: string): void => {
    const key = failures.has(words) || failures.size < mostFailureTexts ? words : 'others';
    failures.set(key, (failures.get(key) ?? 0) + 1);
  };
  const loop = async (agent: number): Promise<void> => {
    for (let number = 1; !timeIsUp(); number += 1) {
      const runStartedMs = performance.now();
      try {
        for await (const turn of runOnce(load, target, agent, number, timeIsUp)) {
          turns.push(turn);
          target.onTurn(turns.length, runMs.length);
        }
        if (!timeIsUp()) runMs.push(performance.now() - runStartedMs);
      } catch (error) {
        if (target.interrupted.aborted) return;
        fail((error as Error).message);
        await delay(pauseAfterFailureMs, undefined, { signal: target.interrupted }).catch(() => undefined);
      }
    }
  };
  await Promise.all(Array.from({ length: load.agents }, async (_, agent) => await loop(agent)));
  return { seconds: (performance.now() - startedMs) / 1_000, turns, runMs, failures };
}

async function* runOnce(
  load: AgentsLoad,
  target: LoadTarget,
  agent: number,
  number: number,
  timeIsUp: () => boolean,
): AsyncGenerator<TurnSeen> {
  const run = `loadgen-${randomUUID()}`;
  const headers = headersOf(load, target, run);
  const messages: Message[] = [
    { role: 'system', content: filler(load.promptTokens, load.seed + agent * 10_007 + number) },
    { role: 'user', content: 'Begin with the first part of the work above.' },
  ];
  try {
    for (let turn = 1; turn <= load.turns && !timeIsUp(); turn += 1) {
      const { seen, text } = await askTurn(load, target, headers, messages);
      yield seen;
      messages.push(
        { role: 'assistant', content: text },
        { role: 'user', content: `Result ${turn}: ${filler(40, load.seed + turn)}. Go on.` },
      );
      if (turn < load.turns) await delay(load.pauseMs, undefined, { signal: target.interrupted });
    }
  } finally {
    // Its context need not be kept any longer; a proxy that is away forgets it by itself.
    await fetch(`${target.proxyUrl}/v1/runs/${run}`, {
      method: 'DELETE',
      headers,
      signal: AbortSignal.timeout(5_000),
    }).then(
      async (response) => await response.body?.cancel(),
      () => undefined,
    );
  }
}

function headersOf(load: AgentsLoad, { token }: LoadTarget, run: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    [requestHeaders.runId[0]]: run,
    [requestHeaders.serviceClass[0]]: load.serviceClass,
    ...(load.caller === null ? {} : { [requestHeaders.caller[0]]: load.caller }),
  };
}

const chunkSchema = z.looseObject({
  choices: z
    .array(z.looseObject({ delta: z.looseObject({ content: z.string().nullish() }).optional() }))
    .default([]),
  usage: z
    .looseObject({
      prompt_tokens: z.number(),
      completion_tokens: z.number(),
      prompt_tokens_details: z.looseObject({ cached_tokens: z.number().nullish() }).nullish(),
    })
    .nullish(),
});

async function askTurn(
  load: AgentsLoad,
  { proxyUrl, model, interrupted }: LoadTarget,
  headers: Record<string, string>,
  messages: readonly Message[],
): Promise<{ readonly seen: TurnSeen; readonly text: string }> {
  const startedMs = performance.now();
  const response = await fetch(`${proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      model,
      messages,
      max_tokens: load.maxTokens,
      stream: true,
      stream_options: { include_usage: true },
    }),
    signal: AbortSignal.any([interrupted, AbortSignal.timeout(turnLimitMs)]),
  });
  if (!response.ok || response.body === null) {
    throw new Error(`HTTP ${response.status}: ${(await response.text()).slice(0, 300)}`);
  }
  const heldMs = Number(response.headers.get(responseHeaders.heldMs) ?? Number.NaN);
  let firstByteMs: number | null = null;
  let text = '';
  let usage: z.infer<typeof chunkSchema>['usage'] = null;
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) {
    firstByteMs ??= performance.now() - startedMs;
    if (data === '[DONE]') continue;
    const chunk = chunkSchema.parse(JSON.parse(data));
    text += chunk.choices[0]?.delta?.content ?? '';
    usage = chunk.usage ?? usage;
  }
  const turnMs = performance.now() - startedMs;
  return {
    text,
    seen: {
      firstByteMs: firstByteMs ?? turnMs,
      turnMs,
      heldMs: Number.isNaN(heldMs) ? null : heldMs,
      promptTokens: usage?.prompt_tokens ?? 0,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? null,
      completionTokens: usage?.completion_tokens ?? 0,
    },
  };
}

const words = [
  'river',
  'stone',
  'cloud',
  'paper',
  'green',
  'seven',
  'north',
  'light',
  'water',
  'table',
  'small',
  'round',
];

/** About so many tokens of text that no other seed begins with. Pure. */
export function filler(tokens: number, seed: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  const chosen: string[] = [`Part ${seed}.`];
  while (chosen.length < tokens) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    chosen.push(words[state % words.length] ?? 'river');
  }
  return chosen.join(' ');
}

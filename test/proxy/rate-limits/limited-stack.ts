/** Requests of named callers against an engine that reports what it is told to, for tests of rate limits. */
import { chat } from '../stack.ts';
import type { ScriptedEngine } from '../scripted-engine.ts';

export interface Reply {
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Every request from now on is answered at once, with this usage. */
export function answerWith(engine: ScriptedEngine, promptTokens: number, completionTokens: number): void {
  engine.answer((call) =>
    call.json(200, {
      id: 'c',
      object: 'chat.completion',
      model: 'm-test',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }],
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        total_tokens: promptTokens + completionTokens,
      },
    }),
  );
}

export async function ask(
  proxy: { readonly port: number },
  caller: string,
  more: Record<string, unknown> = {},
): Promise<Reply> {
  const { status, headers, json } = await chat(proxy, more, { 'x-fermata-caller': caller });
  const body = json() as { error?: { code?: string; message?: string } };
  return { status, headers, code: body.error?.code ?? null, message: body.error?.message ?? '' };
}

/** The statuses of requests sent one after the other. */
export async function statuses(
  proxy: { readonly port: number },
  caller: string,
  times: number,
): Promise<number[]> {
  const all: number[] = [];
  for (let sent = 0; sent < times; sent++) all.push((await ask(proxy, caller)).status);
  return all;
}

/** A prompt of about this many tokens, as the proxy estimates. */
export function promptOf(tokens: number): Record<string, unknown> {
  return { messages: [{ role: 'user', content: 'x'.repeat(tokens * 4) }] };
}

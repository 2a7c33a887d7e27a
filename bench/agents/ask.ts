/**
 * One streamed chat request as an agent makes it: the whole reply, its usage, and when its first byte and its
 * end came. Knows no retries; a stream that ends without `[DONE]` is an error.
 */
import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { responseHeaders } from '../../contracts/headers.ts';
import type { ChatMessage, Reply } from './dialogue.ts';

export interface Question {
  /** Without `/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly fields: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface Answer extends Reply {
  readonly finishReason: string | null;
  /** As the engine counted; null: it told nothing. */
  readonly usage: { readonly promptTokens: number; readonly outputTokens: number } | null;
  readonly cachedTokens: number | null;
  /** By the clock of `performance.now()`. */
  readonly firstByteAtMs: number;
  readonly finishedAtMs: number;
  /** What fermata says in its headers; null: it was not fermata. */
  readonly heldMs: number | null;
  readonly replica: string | null;
}

/** What was asked was refused, or broke off. `status` null: there was none; then `code` may name the cause. */
export class AskFault extends Error {
  override readonly name = 'AskFault';
  readonly status: number | null;
  /** Such as `ECONNREFUSED`. */
  readonly code: string | null;

  constructor(message: string, status: number | null, code: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const chunkSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: z
          .looseObject({
            content: z.string().nullish(),
            tool_calls: z
              .array(
                z.looseObject({
                  index: z.number().default(0),
                  id: z.string().nullish(),
                  function: z
                    .looseObject({ name: z.string().nullish(), arguments: z.string().nullish() })
                    .nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .default([]),
  usage: z
    .looseObject({
      prompt_tokens: z.number(),
      completion_tokens: z.number(),
      prompt_tokens_details: z.looseObject({ cached_tokens: z.number().nullish() }).nullish(),
    })
    .nullish(),
});

const maxErrorCharacters = 300;
/** Engines queue for minutes in a flood; a stream that says nothing for as long is lost. */
export const agentTimeoutMs = 900_000;

/** @throws AskFault when the reply is not whole; AbortError when `signal` is aborted. */
export async function ask(dispatcher: Dispatcher, question: Question): Promise<Answer> {
  const { baseUrl, model, messages, fields, headers, signal } = question;
  const body = { model, messages, stream: true, stream_options: { include_usage: true }, ...fields };
  const reading = new ReplyReading();
  try {
    const response = await dispatcher.request({
      origin: baseUrl,
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench', ...headers },
      body: JSON.stringify(body),
      signal,
    });
    if (response.statusCode !== 200) {
      const text = (await response.body.text()).slice(0, maxErrorCharacters);
      throw new AskFault(`status ${response.statusCode}: ${text}`, response.statusCode);
    }
    let firstByteAtMs: number | null = null;
    for await (const bytes of response.body) {
      firstByteAtMs ??= performance.now();
      reading.feed(bytes as Uint8Array);
    }
    const finishedAtMs = performance.now();
    if (!reading.whole) throw new AskFault('the stream ended without [DONE]', 200);
    const held = response.headers[responseHeaders.heldMs];
    const replica = response.headers[responseHeaders.replica];
    return {
      ...reading.reply(),
      firstByteAtMs: firstByteAtMs ?? finishedAtMs,
      finishedAtMs,
      heldMs: typeof held === 'string' ? Number(held) : null,
      replica: typeof replica === 'string' ? replica : null,
    };
  } catch (error) {
    if (error instanceof AskFault || signal.aborted) throw error;
    throw new AskFault(error instanceof Error ? error.message : String(error), null, codeOf(error));
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

type Read = Pick<Answer, 'content' | 'calls' | 'finishReason' | 'usage' | 'cachedTokens'>;

/** Puts the chunks of a stream together, however their bytes are cut. */
export class ReplyReading {
  whole = false;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({ onEvent: ({ data }) => this.#event(data) });
  #content = '';
  readonly #calls: { id: string; name: string; arguments: string }[] = [];
  #finishReason: string | null = null;
  #usage: Answer['usage'] = null;
  #cachedTokens: number | null = null;

  feed(bytes: Uint8Array): void {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
  }

  reply(): Read {
    return {
      content: this.#content,
      calls: this.#calls.map((call) => ({ ...call })),
      finishReason: this.#finishReason,
      usage: this.#usage,
      cachedTokens: this.#cachedTokens,
    };
  }

  #event(data: string): void {
    if (data === '[DONE]') {
      this.whole = true;
      return;
    }
    const chunk = chunkSchema.safeParse(JSON.parse(data));
    if (!chunk.success)
      throw new AskFault(`a chunk cannot be read: ${data.slice(0, maxErrorCharacters)}`, 200);
    const { choices, usage } = chunk.data;
    if (usage !== null && usage !== undefined) {
      this.#usage = { promptTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens };
      this.#cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? null;
    }
    const [choice] = choices;
    if (choice === undefined) return;
    this.#finishReason = choice.finish_reason ?? this.#finishReason;
    this.#content += choice.delta?.content ?? '';
    for (const part of choice.delta?.tool_calls ?? []) {
      const call = (this.#calls[part.index] ??= { id: '', name: '', arguments: '' });
      call.id = part.id ?? call.id;
      call.name += part.function?.name ?? '';
      call.arguments += part.function?.arguments ?? '';
    }
  }
}

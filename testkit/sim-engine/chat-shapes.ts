/** The JSON of OpenAI's chat completions: chunks of a stream, whole replies, errors. */
import type { Candidate } from './core/first-token.ts';
import type { Piece } from './core/conversation.ts';

export interface ReplyHead {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

export interface NamedCall {
  readonly id: string;
  readonly name: string;
}

export interface ReplyUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number };
}

/** @param cachedTokens null: this engine does not report them. */
export function usageOf(
  promptTokens: number,
  completionTokens: number,
  cachedTokens: number | null,
): ReplyUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cachedTokens === null ? {} : { prompt_tokens_details: { cached_tokens: cachedTokens } }),
  };
}

/** Log-probabilities of one token; `candidates` are the alternatives, most likely first. */
export function tokenLogprobs(token: string, candidates: readonly Candidate[], top: number): object {
  const entry = (text: string, probability: number): object => ({
    token: text,
    logprob: probability > 0 ? Math.log(probability) : -9999,
    bytes: [...Buffer.from(text)],
  });
  const own = candidates.find((candidate) => candidate.token === token)?.probability ?? 0.9;
  return {
    ...entry(token, own),
    top_logprobs: candidates.slice(0, top).map((candidate) => entry(candidate.token, candidate.probability)),
  };
}

export function deltaOf(piece: Piece, calls: readonly NamedCall[]): object {
  if (piece.kind === 'text') return { content: piece.text };
  if (piece.kind === 'arguments') {
    return { tool_calls: [{ index: piece.index, function: { arguments: piece.text } }] };
  }
  const call = calls[piece.index];
  const head = { id: call?.id ?? '', type: 'function', function: { name: call?.name ?? '', arguments: '' } };
  return { tool_calls: [{ index: piece.index, ...head }] };
}

export function chunkOf(
  head: ReplyHead,
  delta: object,
  finishReason: string | null,
  logprobs: object | null,
  includeUsage: boolean,
): object {
  return {
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.created,
    model: head.model,
    choices: [{ index: 0, delta, logprobs, finish_reason: finishReason }],
    ...(includeUsage ? { usage: null } : {}),
  };
}

export function usageChunkOf(head: ReplyHead, usage: ReplyUsage): object {
  return {
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.created,
    model: head.model,
    choices: [],
    usage,
  };
}

export function completionOf(
  head: ReplyHead,
  pieces: readonly Piece[],
  calls: readonly NamedCall[],
  finishReason: string,
  logprobs: object | null,
  usage: ReplyUsage,
): object {
  const content = pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join('');
  const toolCalls = pieces
    .filter((piece) => piece.kind === 'call')
    .map(({ index }) => ({
      id: calls[index]?.id ?? '',
      type: 'function',
      function: {
        name: calls[index]?.name ?? '',
        arguments: pieces
          .map((piece) => (piece.kind === 'arguments' && piece.index === index ? piece.text : ''))
          .join(''),
      },
    }));
  const message = {
    role: 'assistant',
    content: content === '' && toolCalls.length > 0 ? null : content,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [{ index: 0, message, logprobs, finish_reason: finishReason }],
    usage,
  };
}

export function errorBody(status: number, message: string): object {
  const type =
    { 400: 'BadRequestError', 401: 'AuthenticationError', 404: 'NotFoundError', 429: 'RateLimitError' }[
      status
    ] ?? 'InternalServerError';
  return { error: { message, type, param: null, code: status } };
}

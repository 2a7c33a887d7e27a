/** The JSON of OpenAI's chat completions: chunks of a stream, whole replies. */
import type { Candidate } from '../core/first-token.ts';
import type { Piece } from '../core/conversation.ts';
import type { ReplyPlan } from '../core/script.ts';
import { dataEvent, nowSeconds, type ReplyWriter } from './api.ts';
import { callsOf, textOf, type NamedCall } from './generative-reply.ts';
import { doneEvent, openAiUsage } from './openai-shapes.ts';

export interface ChatReply {
  readonly id: string;
  readonly model: string;
  readonly plan: ReplyPlan;
  readonly calls: readonly NamedCall[];
  readonly candidates: readonly Candidate[] | null;
  /** How many alternatives to report for each token; null: no log-probabilities. */
  readonly topLogprobs: number | null;
  readonly includeUsage: boolean;
}

export function chatWriter(reply: ChatReply): ReplyWriter {
  const { plan, calls, includeUsage } = reply;
  const { pieces, finishReason } = plan;
  const created = nowSeconds();
  const head = (object: string): object => ({ id: reply.id, object, created, model: reply.model });
  const chunk = (choices: readonly object[], usage: object | null): string =>
    dataEvent({
      ...head('chat.completion.chunk'),
      choices,
      ...(includeUsage ? { usage } : {}),
    });
  const choice = (
    delta: object,
    finish_reason: string | null,
    logprobs: object | null,
  ): readonly object[] => [{ index: 0, delta, logprobs, finish_reason }];
  const logprobsOf = (content: readonly number[]): object | null =>
    reply.topLogprobs === null ? null : { content: content.map((index) => tokenLogprobs(reply, index)) };
  return {
    opensEarly: false,
    opening: () => [chunk(choice({ role: 'assistant', content: '' }, null, null), null)],
    token(_sequence, index) {
      const piece = pieces[index];
      return piece === undefined
        ? []
        : [chunk(choice(deltaOf(piece, calls), null, logprobsOf([index])), null)];
    },
    sequenceEnd: () => [chunk(choice({}, finishReason, null), null)],
    closing: (usage) => [...(includeUsage ? [chunk([], openAiUsage(usage))] : []), doneEvent],
    body: (usage) => ({
      ...head('chat.completion'),
      choices: [
        {
          index: 0,
          message: messageOf(pieces, calls),
          logprobs: logprobsOf([...pieces.keys()]),
          finish_reason: finishReason,
        },
      ],
      usage: openAiUsage(usage),
    }),
  };
}

function deltaOf(piece: Piece, calls: readonly NamedCall[]): object {
  if (piece.kind === 'text') return { content: piece.text };
  if (piece.kind === 'arguments') {
    return { tool_calls: [{ index: piece.index, function: { arguments: piece.text } }] };
  }
  const call = calls[piece.index];
  const head = { id: call?.id ?? '', type: 'function', function: { name: call?.name ?? '', arguments: '' } };
  return { tool_calls: [{ index: piece.index, ...head }] };
}

function messageOf(pieces: readonly Piece[], calls: readonly NamedCall[]): object {
  const content = textOf(pieces);
  const toolCalls = callsOf(pieces, calls).map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  return {
    role: 'assistant',
    content: content === '' && toolCalls.length > 0 ? null : content,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
}

/** Log-probabilities of one token; the candidates are the alternatives of the first, most likely first. */
function tokenLogprobs({ plan, candidates, topLogprobs }: ChatReply, index: number): object {
  const piece = plan.pieces[index];
  const token = piece === undefined || piece.kind === 'call' ? '' : piece.text;
  const known = candidates !== null && index === 0 ? candidates : [{ token, probability: 0.9 }];
  const entry = (text: string, probability: number): object => ({
    token: text,
    logprob: probability > 0 ? Math.log(probability) : -9999,
    bytes: [...Buffer.from(text)],
  });
  const own = known.find((candidate) => candidate.token === token)?.probability ?? 0.9;
  return {
    ...entry(token, own),
    top_logprobs: known
      .slice(0, topLogprobs ?? 0)
      .map((candidate) => entry(candidate.token, candidate.probability)),
  };
}

/** Writes the tokens and the end of one reply as the client asked for it: as a stream, or in one body. */
import type { ChatRequest } from './chat-request.ts';
import * as shapes from './chat-shapes.ts';
import type { Candidate } from './core/first-token.ts';
import type { ReplyPlan } from './core/script.ts';
import type { ReplyStream } from './reply-stream.ts';

/** One reply under way. */
export interface Turn {
  readonly request: ChatRequest;
  readonly plan: ReplyPlan;
  readonly head: shapes.ReplyHead;
  readonly calls: readonly shapes.NamedCall[];
  readonly candidates: readonly Candidate[] | null;
  readonly promptLength: number;
  readonly stream: ReplyStream;
  /** Break off within the body of an unstreamed reply. */
  readonly cut: boolean;
}

/** The token at `index` of the plan was produced. */
export function pushToken(turn: Turn, index: number): void {
  if (!turn.request.stream) return;
  const piece = turn.plan.pieces[index];
  if (piece === undefined) return;
  const { includeUsage } = turn.request;
  const send = (delta: object, logprobs: object | null): void => {
    turn.stream.push(event(shapes.chunkOf(turn.head, delta, null, logprobs, includeUsage)));
  };
  if (index === 0) send({ role: 'assistant', content: '' }, null);
  const logprobs = turn.request.topLogprobs === null ? null : { content: [logprobsOf(turn, index)] };
  send(shapes.deltaOf(piece, turn.calls), logprobs);
}

/** The last token was produced. */
export function pushEnd(turn: Turn, usage: shapes.ReplyUsage): void {
  const { request, plan, head, stream, calls } = turn;
  if (request.stream) {
    stream.push(event(shapes.chunkOf(head, {}, plan.finishReason, null, request.includeUsage)));
    if (request.includeUsage) stream.push(event(shapes.usageChunkOf(head, usage)));
    stream.push('data: [DONE]\n\n');
  } else {
    const logprobs =
      request.topLogprobs === null
        ? null
        : { content: plan.pieces.map((_, index) => logprobsOf(turn, index)) };
    const body = JSON.stringify(
      shapes.completionOf(head, plan.pieces, calls, plan.finishReason, logprobs, usage),
    );
    if (turn.cut) stream.push(body.slice(0, body.length / 2));
    stream.push(turn.cut ? body.slice(body.length / 2) : body);
  }
  stream.finish();
}

function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function logprobsOf(turn: Turn, index: number): object {
  const piece = turn.plan.pieces[index];
  const token = piece === undefined || piece.kind === 'call' ? '' : piece.text;
  const candidates =
    turn.candidates !== null && index === 0 ? turn.candidates : [{ token, probability: 0.9 }];
  return shapes.tokenLogprobs(token, candidates, turn.request.topLogprobs ?? 0);
}

/** The reply of the simulated model to a conversation, as the generative APIs write it. */
import { promptTokens, replyTokens, type Piece } from '../core/conversation.ts';
import type { Candidate } from '../core/first-token.ts';
import { hashText } from '../core/random.ts';
import { planReply, type ReplyPlan, type ReplyRequest } from '../core/script.ts';
import type { ApiContext, ApiRequest } from './api.ts';
import { refuseImages } from './read-body.ts';

export interface NamedCall {
  readonly id: string;
  readonly name: string;
}

export interface GenerativeReply {
  readonly plan: ReplyPlan;
  readonly calls: readonly NamedCall[];
  /** The fields of an {@link ApiRequest} that follow from the conversation alone. */
  readonly turn: Pick<ApiRequest, 'sequences' | 'faults' | 'turn' | 'conversation' | 'finishReason'>;
}

/**
 * @param firstToken candidates of a request that asks how likely its only token is: the most likely one is
 * the reply. null: any other request.
 */
export function generateReply(
  request: ReplyRequest,
  context: ApiContext,
  callPrefix: string,
  firstToken: readonly Candidate[] | null = null,
): GenerativeReply {
  if (!context.images) refuseImages(request.messages, context.model);
  const plan = withFirstToken(planReply(request, context.script), request, firstToken);
  const names = plan.calls.map((call) => call.name);
  return {
    plan,
    calls: names.map((name, index) => ({
      id: context.callIds === 'short' ? `call_${index}` : context.uniqueId(callPrefix),
      name,
    })),
    turn: {
      sequences: [
        {
          promptTokens: promptTokens(request.messages, request.tools),
          outputTokens: replyTokens(plan.pieces, names),
        },
      ],
      faults: request.directive.faults ?? [],
      turn: plan.turn,
      conversation: String(hashText(request.messages.map((message) => message.text).join('\n'))),
      finishReason: plan.finishReason,
    },
  };
}

function withFirstToken(
  plan: ReplyPlan,
  request: ReplyRequest,
  candidates: readonly Candidate[] | null,
): ReplyPlan {
  const [best] = candidates ?? [];
  if (best === undefined || request.tools.length > 0) return plan;
  return {
    ...plan,
    content: best.token,
    calls: [],
    pieces: [{ kind: 'text', text: best.token }],
    finishReason: 'length',
  };
}

/** What the pieces say outside of calls. */
export function textOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join('');
}

/** Calls whose head was produced, with as much of their arguments as was. */
export function callsOf<Call extends NamedCall>(
  pieces: readonly Piece[],
  calls: readonly Call[],
): readonly (Call & { readonly arguments: string })[] {
  const argumentsOf = (index: number): string =>
    pieces.map((piece) => (piece.kind === 'arguments' && piece.index === index ? piece.text : '')).join('');
  return calls
    .map((call, index) => ({ ...call, arguments: argumentsOf(index) }))
    .filter((_, index) => pieces.some((piece) => piece.kind === 'call' && piece.index === index));
}

/** Which part of the reply a piece belongs to: the text, if any, is the first, and each call is one. */
export function blockOf(pieces: readonly Piece[], index: number): number {
  const piece = pieces[index];
  if (piece === undefined || piece.kind === 'text') return 0;
  return piece.index + (pieces[0]?.kind === 'text' ? 1 : 0);
}

/** Whether a part of the reply begins with this piece. */
export function startsBlock(pieces: readonly Piece[], index: number): boolean {
  return index === 0 || blockOf(pieces, index) !== blockOf(pieces, index - 1);
}

/**
 * A chat request as the simulated model reads it, and the tokens it comes to. A reply that the client
 * sends back unchanged gives the same tokens as when it was produced, so the prefix cache finds it.
 */
import { hashText } from './random.ts';
import { tokenIds, tokenize } from './tokens.ts';

export interface SimToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface SimMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** What each image is, in any form that tells images apart; absent: none. */
  readonly images?: readonly string[];
  readonly toolCalls: readonly SimToolCall[];
  /** Of a tool message: which call it answers. */
  readonly toolCallId: string | null;
}

/** A JSON schema object, unchecked. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** One output token: a part of the text, the head of a tool call, or a part of its arguments. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly index: number }
  | { readonly kind: 'arguments'; readonly index: number; readonly text: string };

/** A reply in the order in which it is produced. */
export function replyPieces(
  content: string | null,
  calls: readonly { readonly arguments: string }[],
): Piece[] {
  return [
    ...tokenize(content ?? '').map((text): Piece => ({ kind: 'text', text })),
    ...calls.flatMap((call, index): Piece[] => [
      { kind: 'call', index },
      ...tokenize(call.arguments).map((text): Piece => ({ kind: 'arguments', index, text })),
    ]),
  ];
}

/** Tokens of an image, whatever its size. */
export const imageTokens = 256;

function tokensOfImage(image: string): number[] {
  return Array.from({ length: imageTokens }, (_, index) => hashText(`<image ${index}>${image}`));
}

function messageTokens(message: SimMessage): number[] {
  return [
    hashText(`<${message.role}>`),
    ...tokenIds(message.text),
    ...(message.images ?? []).flatMap(tokensOfImage),
    ...message.toolCalls.flatMap((call) => [hashText(`<call>${call.name}`), ...tokenIds(call.arguments)]),
    hashText('<end>'),
  ];
}

/** Tokens of the prompt: the tools, every message, and the start of the reply. */
export function promptTokens(messages: readonly SimMessage[], tools: readonly OfferedTool[]): number[] {
  return [
    ...(tools.length > 0 ? tokenIds(JSON.stringify(tools)) : []),
    ...messages.flatMap(messageTokens),
    hashText('<assistant>'),
  ];
}

/** Tokens of a reply, one a piece. */
export function replyTokens(pieces: readonly Piece[], callNames: readonly string[]): number[] {
  return pieces.map((piece) =>
    hashText(piece.kind === 'call' ? `<call>${callNames[piece.index] ?? ''}` : piece.text),
  );
}

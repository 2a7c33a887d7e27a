/**
 * What an API of the simulated engine is: a reader that understands a request's body and plans the reply,
 * and a writer that puts the reply into the API's own bytes. What happens between, for all of them alike,
 * is serve-turn.ts: neither reader nor writer knows of sockets, time or the engine.
 */
import type { Fault } from '../core/directives.ts';
import type { ScriptOptions } from '../core/script.ts';
import type { ResponseStore } from './response-store.ts';

/** A request that is refused for what it says. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface ApiContext {
  readonly model: string;
  readonly labels: readonly string[];
  readonly script: ScriptOptions;
  /** `short`: `call_0`, `call_1` in every reply. */
  readonly callIds: 'unique' | 'short';
  readonly reportCachedTokens: boolean;
  /** Whether the model takes images; else a request with one is refused. */
  readonly images: boolean;
  readonly responses: ResponseStore;
  /** Makes ids that no other request of any engine has. */
  readonly uniqueId: (prefix: string) => string;
}

/** One row of tokens that the engine computes; most requests are one, a batch is several. */
export interface Sequence {
  readonly promptTokens: readonly number[];
  /** At least one; what reads only and produces nothing has one that nobody sees. */
  readonly outputTokens: readonly number[];
}

export interface ReplyUsage {
  readonly promptTokens: number;
  /** null: this engine does not report them. */
  readonly cachedTokens: number | null;
  readonly outputTokens: number;
}

/** Each method but `body` gives the events to write now, each complete with its final blank line. */
export interface ReplyWriter {
  /** The opening tells nothing of the engine's work, so that an engine may write it while a request waits. */
  readonly opensEarly: boolean;
  /** Before the first token; `outputTokens` is 0. */
  opening(usage: ReplyUsage): readonly string[];
  /** @param index of the token within its sequence. */
  token(sequence: number, index: number): readonly string[];
  sequenceEnd(sequence: number): readonly string[];
  /** After the last sequence has ended. */
  closing(usage: ReplyUsage): readonly string[];
  /** The reply to a request that asked for no stream. */
  body(usage: ReplyUsage): object;
}

export interface ApiRequest {
  /** null: the engine's own model. */
  readonly model: string | null;
  /** Of the request at the engine, and of the reply where the API shows it. */
  readonly id: string;
  readonly stream: boolean;
  readonly sequences: readonly Sequence[];
  /** What the request's directives say goes wrong. */
  readonly faults: readonly Fault[];
  /** Of the run that the request's conversation is, from 0. */
  readonly turn: number;
  /** Names the conversation; requests with the same one are tries of the same turns. */
  readonly conversation: string;
  /** null: the API has none. */
  readonly finishReason: string | null;
  readonly writer: ReplyWriter;
}

/** @throws BadRequest when the body is none of this API or holds a directive that cannot be read. */
export type ApiReader = (body: unknown, context: ApiContext) => ApiRequest;

/** An event without a name, as OpenAI's older APIs stream. */
export function dataEvent(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** An event that carries its type as its name too. */
export function namedEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** For APIs that never stream. */
export function bodyOnly(body: (usage: ReplyUsage) => object): ReplyWriter {
  const none = (): readonly string[] => [];
  return { opensEarly: false, opening: none, token: none, sequenceEnd: none, closing: none, body };
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}

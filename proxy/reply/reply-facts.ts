/**
 * What the proxy must know of an engine's reply, whatever its shape, and how the turn ended by it.
 * Pure.
 */
import type { TurnOutcome, Usage } from '../../contracts/link-protocol.ts';

export interface ReplyFacts {
  readonly usage: Usage | null;
  /** Prompt tokens the engine had in its cache; null when it does not say. */
  readonly cachedTokens: number | null;
  readonly finishReason: string | null;
  /** The reply carries at least one tool call, whatever its finish reason says. */
  readonly callsTools: boolean;
  readonly toolCallIds: ReadonlySet<string>;
  readonly toolNames: ReadonlySet<string>;
  /** By which a later request may go on from this reply; null: the API names none. */
  readonly responseId: string | null;
  /** Pieces of output seen, about one a token: what is booked when no usage came. */
  readonly outputPieces: number;
  /** The stream said that it is over, or that it failed. */
  readonly closed: boolean;
  /** The engine reported an error inside a 200. */
  readonly failed: boolean;
  /** All of the reply could be read; if not, what is missing is unknown. */
  readonly complete: boolean;
}

/** Most replies have none. */
const none: ReadonlySet<string> = new Set();

export const nothingRead: ReplyFacts = {
  usage: null,
  cachedTokens: null,
  finishReason: null,
  callsTools: false,
  toolCallIds: none,
  toolNames: none,
  responseId: null,
  outputPieces: 0,
  closed: false,
  failed: false,
  complete: false,
};

/**
 * The outcome of a reply that arrived whole. Engines label replies that call tools as `stop` and
 * replies without calls as `tool_calls`: what the message holds decides.
 */
export function outcomeOfReply(facts: ReplyFacts): TurnOutcome {
  if (facts.failed) return 'failed';
  return facts.callsTools ? 'paused' : 'done';
}

/** Whether a stream that ended was cut: neither a finish reason nor a closing mark was seen. */
export function wasCut(facts: ReplyFacts): boolean {
  return facts.complete && !facts.closed && !facts.failed && facts.finishReason === null;
}

/** What is known of a reply, added up as it is read. */
export class FactCollector {
  usage: Usage | null = null;
  /** What stands in for usage when there is none. */
  usageHint: Usage | null = null;
  cachedTokens: number | null = null;
  finishReason: string | null = null;
  callsTools = false;
  #toolCallIds: Set<string> | null = null;
  #toolNames: Set<string> | null = null;
  responseId: string | null = null;
  outputPieces = 0;
  closed = false;
  failed = false;

  /** Ids and names beyond these are not remembered; a reply has a handful. */
  static readonly maxToolCalls = 64;
  static readonly maxNameLength = 256;

  toolCall(id: unknown, name: unknown): void {
    this.callsTools = true;
    const ids = (this.#toolCallIds ??= new Set());
    const names = (this.#toolNames ??= new Set());
    if (typeof id === 'string' && id !== '' && ids.size < FactCollector.maxToolCalls) ids.add(id);
    if (typeof name === 'string' && name !== '' && names.size < FactCollector.maxToolCalls) {
      names.add(name.slice(0, FactCollector.maxNameLength));
    }
  }

  facts(complete: boolean): ReplyFacts {
    return {
      usage: this.usage ?? this.usageHint,
      cachedTokens: this.cachedTokens,
      finishReason: this.finishReason,
      callsTools: this.callsTools,
      toolCallIds: this.#toolCallIds ?? none,
      toolNames: this.#toolNames ?? none,
      responseId: this.responseId,
      outputPieces: this.outputPieces,
      closed: this.closed,
      failed: this.failed,
      complete,
    };
  }
}

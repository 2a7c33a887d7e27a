/**
 * What a turn may cost before it is run: an estimate of its prompt and the most that it may reply. The
 * engine's tokenizer is not at hand in a workflow, so the first prompt is estimated from its size, every
 * later one from the real size of the one before. Pure.
 */

/** A prompt that was counted by the engine. */
export interface MeasuredPrompt {
  /** Bytes of the transcript, as JSON in UTF-8, that it was made of. */
  readonly bytes: number;
  readonly tokens: number;
}

/** Fewer than the four bytes that a token of English has, so that estimates are rather high. */
export const bytesPerToken = 3;

/** Reserved for a reply whose length is left to the engine (`maxTokens` 0). */
export const undecidedReplyTokens = 1_024;

export interface TurnSize {
  /** Bytes of the transcript as JSON in UTF-8. */
  readonly transcriptBytes: number;
  /** Bytes of the tool schemas as JSON; counted only while no prompt was measured, which holds them. */
  readonly toolsBytes: number;
  /** The prompt of the turn before; null: this is the first. */
  readonly measured: MeasuredPrompt | null;
  /** Most tokens of the reply; 0: the engine decides. */
  readonly maxTokens: number;
}

/** Tokens to reserve for a turn. */
export function turnTokens({ transcriptBytes, toolsBytes, measured, maxTokens }: TurnSize): number {
  const reply = maxTokens === 0 ? undecidedReplyTokens : maxTokens;
  return reply + promptTokens(transcriptBytes, toolsBytes, measured);
}

function promptTokens(bytes: number, toolsBytes: number, measured: MeasuredPrompt | null): number {
  if (measured === null) return Math.ceil((bytes + toolsBytes) / bytesPerToken);
  if (bytes >= measured.bytes) return measured.tokens + Math.ceil((bytes - measured.bytes) / bytesPerToken);
  // Tool results were elided since.
  return Math.ceil(measured.tokens * (bytes / Math.max(1, measured.bytes)));
}

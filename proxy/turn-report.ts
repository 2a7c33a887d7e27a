/** What an attempt's end means for the scheduler and for the access log. Pure. */
import { describeRefusal, readRefusal } from '../contracts/engine-refusal.ts';
import type { TurnOutcome, Usage } from '../contracts/link-protocol.ts';
import type { RelayResult } from './forward/relay.ts';
import type { TurnReport } from './link/ticket.ts';
import { outcomeOfReply, type ReplyFacts } from './reply/reply-facts.ts';

/** @param promptTokens the estimate, which stands in where an engine gave no usage. */
export function reportOf(result: RelayResult, promptTokens: number): TurnReport {
  if (result.kind === 'kept') return { outcome: outcomeOfStatus(result.reply.status) };
  if (result.kind === 'unreachable' || result.kind === 'idle') return { outcome: 'failed' };
  const { facts } = result;
  const outcome = result.kind === 'passed' ? outcomeOfPassed(result.status, facts) : 'failed';
  return {
    outcome,
    usage: facts.usage ?? estimatedUsage(facts, promptTokens),
    cachedTokens: facts.cachedTokens,
    ...(outcome === 'paused' ? { toolNames: [...facts.toolNames] } : {}),
  };
}

function outcomeOfPassed(status: number, facts: ReplyFacts): TurnOutcome {
  return status < 400 ? outcomeOfReply(facts) : outcomeOfStatus(status);
}

function outcomeOfStatus(status: number): TurnOutcome {
  return status === 429 || status >= 500 ? 'refused' : 'failed';
}

/** A reply that was cut before its usage came has cost what was seen of it. */
function estimatedUsage(facts: ReplyFacts, promptTokens: number): Usage | null {
  return facts.outputPieces === 0 ? null : { promptTokens, completionTokens: facts.outputPieces };
}

/** Words for the access log; null when nothing went wrong. */
export function reasonOf(result: RelayResult): string | null {
  switch (result.kind) {
    case 'passed':
      return result.status < 400 ? null : refusalReason(result.status, result.errorText ?? '');
    case 'kept':
      return refusalReason(result.reply.status, result.reply.body.toString('utf8'));
    case 'unreachable':
    case 'broken':
      return result.message;
    case 'idle':
      return 'nothing came from the engine';
    case 'client-gone':
      return 'the client left';
    case 'client-stalled':
      return 'the client stopped reading';
    case 'aborted':
      return result.reason;
    default:
      return result satisfies never;
  }
}

/** The status, and the class of the refusal where the body tells one. No word of the body. */
function refusalReason(status: number, body: string): string {
  const refusal = readRefusal(status, body);
  const means = refusal === null ? '' : ` (${describeRefusal(refusal)})`;
  return `the engine answered ${status}${means}`;
}

/** Label of the upstream error counter; null when the engine was not at fault. */
export function upstreamErrorKind(result: RelayResult): string | null {
  switch (result.kind) {
    case 'unreachable':
    case 'idle':
    case 'broken':
      return result.kind;
    case 'kept':
      return `status_${result.reply.status}`;
    case 'passed':
      return result.status < 400 ? null : `status_${result.status}`;
    default:
      return null;
  }
}

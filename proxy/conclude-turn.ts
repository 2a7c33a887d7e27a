/** What the client gets when a turn is over, beyond the bytes it was sent as they came. */
import { errorCodes } from '../contracts/error-codes.ts';
import { responseHeaders } from '../contracts/headers.ts';
import type { ClientExchange } from './client-exchange.ts';
import { Fault, sendFault, toFault } from './faults.ts';
import { clientResponseHeaders, withOwnHeaders } from './forward/hop-headers.ts';
import type { RelayResult } from './forward/relay.ts';
import { GatheredReply } from './gathered-reply.ts';
import type { ProxyContext } from './proxy-context.ts';
import { refusalFault } from './refusal-fault.ts';
import type { TurnRecord } from './turn-record.ts';
import { noRetryHeader, ownHeaders, retriesUsed, type Admission, type Ends, type Turn } from './turn.ts';

/**
 * Gives the client what the last attempt left to be said.
 * @throws Fault for what is this proxy's own to word.
 */
export function conclude(
  turn: Turn,
  admission: Admission,
  { client, sink }: Ends,
  result: RelayResult,
  record: TurnRecord,
): void {
  switch (result.kind) {
    case 'passed':
      if (turn.request.translate !== null && sink instanceof GatheredReply) {
        sink.deliver(turn.request.translate, ownHeaders(turn, record, 200));
      }
      return;
    case 'broken':
    case 'client-gone':
    case 'client-stalled':
      return;
    case 'kept':
      client.send(
        result.reply.status,
        withOwnHeaders(
          clientResponseHeaders(result.reply.headers, true),
          ownHeaders(turn, record, result.reply.status),
        ),
        result.reply.body,
      );
      return;
    case 'unreachable':
      throw new Fault('engine_unreachable', `engine ${admission.replica.id}: ${result.message}`);
    case 'idle':
      throw new Fault('engine_idle', `engine ${admission.replica.id}: sent nothing for too long`);
    case 'aborted':
      throw refusalFault(result.reason, turn.request.model);
    default:
      result satisfies never;
  }
}

/** The ONE place where a failure of this path becomes a response. */
export function fail(
  context: ProxyContext,
  client: ClientExchange,
  error: unknown,
  record: TurnRecord,
): void {
  const fault = toFault(error);
  if (!(error instanceof Fault))
    context.logger.error({ err: error, run: record.run, turn: record.turn, trace: record.trace }, 'fault');
  record.reason = fault.message;
  if (client.gone) return;
  if (client.response.headersSent) {
    client.destroy();
    return;
  }
  sendFault(client.response, fault, {
    ...(record.runName === null ? {} : { [responseHeaders.runId]: record.runName }),
    ...(record.replica === null ? {} : { [responseHeaders.replica]: record.replica }),
    [responseHeaders.heldMs]: String(Math.round(record.heldMs)),
    ...(retriesUsed(record, errorCodes[fault.code].status) ? { [noRetryHeader[0]]: noRetryHeader[1] } : {}),
  });
}

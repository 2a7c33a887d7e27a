/** Reads a request and settles whose turn it is; what is known goes into the access log line at once. */
import type { IncomingMessage } from 'node:http';
import { cappedClass, type Admitted } from '../auth/grant.ts';
import type { RunId } from '../contracts/ids.ts';
import type { ApiDescriptor } from './apis/api-descriptor.ts';
import { drawRunName } from './identity/draw-ids.ts';
import { identifyRun } from './identity/identify-run.ts';
import { readIdentityHeaders } from './identity/identity-headers.ts';
import { scopedRun, type RunName, type RunOwner } from './identity/scoped-run.ts';
import type { ProxyContext } from './proxy-context.ts';
import { readBody } from './request-body.ts';
import type { TurnRecord } from './turn-record.ts';
import type { Turn } from './turn.ts';

/** @throws Fault for a header or body that cannot be taken, and for a caller that has used up its limits. */
export async function identify(
  context: ProxyContext,
  api: ApiDescriptor,
  grant: Admitted,
  request: IncomingMessage,
  arrivedAtMs: number,
  record: TurnRecord,
): Promise<Turn> {
  const identity = readIdentityHeaders(request.headers, grant);
  const turnRequest = api.readRequest(await readBody(request, context.limits.bodyBytes));
  const { run, name, by } =
    turnRequest.runState === undefined
      ? identifyRun(identity, turnRequest.conversation, context.memory, drawRunName, context.nowMs())
      : newRun(identity, turnRequest.runState);
  const serviceClass = cappedClass(grant, turnRequest.class ?? identity.class);
  record.run = run;
  record.runName = name;
  record.runBy = by;
  record.caller = identity.caller;
  record.class = serviceClass;
  record.model = turnRequest.model;
  const pinnedTo = context.runs.pinnedReplica(run);
  const id = context.nextTurnId();
  record.turn = id;
  const limits = context.pool.rateLimitsOf(identity.caller);
  const charge =
    limits === null
      ? null
      : await context.limiter.take(identity.caller, limits, turnRequest.conversation.promptTokens);
  return {
    id,
    request: turnRequest,
    identity,
    class: serviceClass,
    run,
    runName: name,
    pinnedTo,
    arrivedAtMs,
    charge,
  };
}

function newRun<By extends string>(owner: RunOwner, by: By): { run: RunId; name: RunName; by: By } {
  const name = drawRunName();
  return { run: scopedRun(owner, name), name, by };
}

/** The words with which a turn is refused because of its caller's limits. Pure. */
import type { Caller } from '../../contracts/ids.ts';
import { Fault } from '../faults.ts';
import type { LimitName } from './budget.ts';

const units: Readonly<Record<LimitName, string>> = {
  requestsPerMinute: 'requests',
  inputTokensPerMinute: 'input tokens',
  outputTokensPerMinute: 'output tokens',
};

/** @param waitMs until there is room. */
export function limitedFault(caller: Caller, name: LimitName, limit: number, waitMs: number): Fault {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Fault(
    'rate_limited',
    `caller '${caller}' has used up its limit of ${limit} ${units[name]} a minute (${name}); it is free again in ${seconds} s`,
    seconds,
  );
}

/** Not `rate_limited`: clients repeat that, and this request can never pass. */
export function tooLargeFault(caller: Caller, limit: number, promptTokens: number): Fault {
  return new Fault(
    'invalid_request',
    `this request has about ${promptTokens} input tokens, and caller '${caller}' may use ${limit} input tokens a minute (inputTokensPerMinute): it can never pass; send a shorter one, or have the limit raised`,
  );
}

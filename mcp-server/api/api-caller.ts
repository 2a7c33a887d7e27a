/**
 * Who asks at the run API. A token's name is the caller. Whoever has none, or FERMATA_TOKEN, sees all runs
 * whatever it calls itself: page and command line then share one name, so that a request id of the one
 * means the same run for the other, unless they name a caller in a header as agents do at the proxy.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Admitted } from '../../auth/grant.ts';
import { requestHeaders } from '../../contracts/headers.ts';
import type { Caller } from '../../contracts/ids.ts';
import { askerOf, type Asker } from '../runs/asker.ts';
import { ApiFault } from './api-fault.ts';

export const apiCaller = 'api' as Caller;

const maxCallerLength = 128;

/** @throws ApiFault for a header that cannot be a caller. */
export function apiAskerOf(headers: IncomingHttpHeaders, grant: Admitted): Asker {
  return askerOf(callerFrom(headers), grant);
}

function callerFrom(headers: IncomingHttpHeaders): Caller {
  for (const name of requestHeaders.caller) {
    const value = headers[name];
    if (typeof value !== 'string') continue;
    const text = value.trim();
    if (text === '') continue;
    if (!/^[\x20-\x7e]+$/.test(text)) {
      throw new ApiFault('invalid_header', `${name}: must be printable ASCII`);
    }
    return text.slice(0, maxCallerLength).trimEnd() as Caller;
  }
  return apiCaller;
}

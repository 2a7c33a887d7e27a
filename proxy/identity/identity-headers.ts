/**
 * Reads the headers by which a client says whose turn this is. Pure. It does not look at the body and
 * does not decide on the run when no header names one.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { agentHeaders, requestHeaders, sessionHeaders } from '../../contracts/headers.ts';
import { cappedClass, openGrant, tokenName, type Admitted } from '../../auth/grant.ts';
import { anonymousCaller, type Caller } from '../../contracts/ids.ts';
import { defaultServiceClass, serviceClassSchema, type ServiceClass } from '../../contracts/service-class.ts';
import { Fault } from '../faults.ts';
import { parseRunName, type RunName, type RunOwner } from './scoped-run.ts';

export interface IdentityHeaders extends RunOwner {
  /** The run that a run header names. */
  readonly run: RunName | null;
  /** The run that a known agent's own session header names. */
  readonly sessionRun: RunName | null;
  /** At most what the token allows. */
  readonly class: ServiceClass;
  readonly turnNumber: number | null;
}

const callerBytes = 128;

/**
 * @param grant what the token of the request allows.
 * @throws Fault `invalid_header` that names the header and its rule.
 */
export function readIdentityHeaders(
  headers: IncomingHttpHeaders,
  grant: Admitted = openGrant,
): IdentityHeaders {
  const { caller, named } = readOwner(headers, grant);
  return {
    run: readRun(headers),
    sessionRun: readSessionRun(headers, caller),
    class: cappedClass(grant, readClass(headers)),
    caller,
    named,
    turnNumber: readTurnNumber(headers),
  };
}

/** The token's name, else what the caller header says. */
export function readOwner(headers: IncomingHttpHeaders, grant: Admitted): RunOwner {
  const name = tokenName(grant);
  return { caller: name ?? readCaller(headers), named: name !== null };
}

/** Our own name goes before its alias. */
function first(
  headers: IncomingHttpHeaders,
  names: readonly string[],
): { name: string; value: string } | null {
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined) return { name, value: Array.isArray(value) ? value.join(', ') : value };
  }
  return null;
}

function readRun(headers: IncomingHttpHeaders): RunName | null {
  const header = first(headers, requestHeaders.runId);
  if (header === null) return null;
  const run = parseRunName(header.value);
  if (run !== null) return run;
  throw new Fault('invalid_header', `${header.name} must be 1 to 128 bytes of printable ASCII`);
}

function readClass(headers: IncomingHttpHeaders): ServiceClass {
  const header = first(headers, requestHeaders.serviceClass);
  if (header === null) return defaultServiceClass;
  const serviceClass = serviceClassSchema.safeParse(header.value);
  if (serviceClass.success) return serviceClass.data;
  throw new Fault('invalid_header', `${header.name} must be interactive or batch`);
}

/**
 * Who the caller header says asks, cut at 128 bytes: Node hands header values over as Latin-1, one
 * character a byte.
 */
export function readCaller(headers: IncomingHttpHeaders): Caller {
  const value = first(headers, requestHeaders.caller)?.value.slice(0, callerBytes) ?? '';
  return value === '' ? anonymousCaller : (value as Caller);
}

function readTurnNumber(headers: IncomingHttpHeaders): number | null {
  const header = first(headers, requestHeaders.turn);
  if (header === null) return null;
  if (/^\d{1,15}$/.test(header.value)) return Number(header.value);
  throw new Fault('invalid_header', `${header.name} must be a whole number of at most 15 digits`);
}

/** Derived, not drawn, so that it is the same on every proxy and after a restart. */
function readSessionRun(headers: IncomingHttpHeaders, caller: Caller): RunName | null {
  const header = first(headers, sessionHeaders);
  if (header === null || header.value === '') return null;
  const agent = first(headers, agentHeaders)?.value ?? '';
  const hash = createHash('sha256')
    .update(JSON.stringify([caller, header.name, header.value, ...(agent === '' ? [] : [agent])]))
    .digest('base64url');
  return `ses_${hash.slice(0, 22)}` as RunName;
}

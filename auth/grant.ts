/** What a request may do, by the token it sends. Pure data; each door decides what it asks for. */
import type { Caller } from '../contracts/ids.ts';
import type { ServiceClass } from '../contracts/service-class.ts';

export interface Granted {
  readonly kind: 'granted';
  /** The token's name, which is the caller; null: FERMATA_TOKEN, whose holder names the caller. */
  readonly name: Caller | null;
  /** The best class; null: any. */
  readonly classCeiling: ServiceClass | null;
  /** May see and end everything, and read the scheduler's state. */
  readonly admin: boolean;
}

/** No token is set: everyone may do everything. */
export interface Open {
  readonly kind: 'open';
}

export interface Denied {
  readonly kind: 'denied';
}

/** A request that was let in. */
export type Admitted = Open | Granted;
export type Grant = Admitted | Denied;

export const openGrant: Open = Object.freeze({ kind: 'open' });
export const deniedGrant: Denied = Object.freeze({ kind: 'denied' });
/** Of whoever holds FERMATA_TOKEN. */
export const serviceGrant: Granted = Object.freeze({
  kind: 'granted',
  name: null,
  classCeiling: null,
  admin: true,
});

/** The caller, when the token settles it; null: whoever sends the request says who asks. */
export function tokenName(grant: Admitted): Caller | null {
  return grant.kind === 'open' ? null : grant.name;
}

/** May see and end everything, and read the scheduler's state. */
export function isAdmin(grant: Admitted): boolean {
  return grant.kind === 'open' || grant.admin;
}

/** The class that a request gets which asks for `wanted`. */
export function cappedClass(grant: Admitted, wanted: ServiceClass): ServiceClass {
  return grant.kind === 'granted' && grant.classCeiling === 'batch' ? 'batch' : wanted;
}

/** Who asks about runs, at whichever door, and what that one may see. Pure. */
import { isAdmin, tokenName, type Admitted } from '../../auth/grant.ts';
import type { Caller } from '../../contracts/ids.ts';
import type { ServiceClass } from '../../contracts/service-class.ts';

export interface Asker {
  readonly caller: Caller;
  /** Sees and ends the runs of everyone; else its own. */
  readonly seesAll: boolean;
  /** The best class of its runs; null: any. */
  readonly classCeiling: ServiceClass | null;
}

/** @param told who the client says asks; a token's name wins over it. */
export function askerOf(told: Caller, grant: Admitted): Asker {
  return {
    caller: tokenName(grant) ?? told,
    seesAll: isAdmin(grant),
    classCeiling: grant.kind === 'open' ? null : grant.classCeiling,
  };
}

/** @param owner caller of the run; null: not known. */
export function maySee(asker: Pick<Asker, 'caller' | 'seesAll'>, owner: string | null): boolean {
  return asker.seesAll || asker.caller === owner;
}

/** A signal that follows others, such as "the client has gone" and "this server is stopping", and that many may hear. */
import { setMaxListeners } from 'node:events';
import { AbortScope as Scope } from '../../contracts/abort-scope.ts';

export class AbortScope extends Scope {
  constructor(...sources: readonly AbortSignal[]) {
    super(...sources);
    // As many may listen as there are runs in one wait.
    setMaxListeners(0, this.signal);
  }
}

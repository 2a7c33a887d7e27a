/**
 * Several proxies stand before one scheduler, so any of them will do: what one of them cannot take, because it is
 * away or stopping, is asked of the next at once. Each is asked once; what stands in the way of the last one is
 * the failure. A turn goes out again as it was, with its run and number, so the scheduler knows it again.
 */
import type { AddressOrder } from '../../contracts/addresses.ts';
import type { UpstreamFailure } from './classify-failure.ts';
import { ModelTurnError } from './model-turn-error.ts';

/**
 * @param addresses in the order in which they are asked.
 * @param notes where it is noted who is away.
 * @throws what `ask` threw of the last one asked.
 */
export async function throughProxies<T>(
  addresses: readonly string[],
  notes: Pick<AddressOrder, 'noteAway' | 'noteAnswered'>,
  ask: (address: string) => Promise<T>,
): Promise<T> {
  let lost: ModelTurnError | null = null;
  for (const address of addresses) {
    try {
      const answer = await ask(address);
      notes.noteAnswered(address);
      return answer;
    } catch (error) {
      if (!(error instanceof ModelTurnError) || !isAway(error.failure)) throw error;
      notes.noteAway(address);
      lost = error;
    }
  }
  throw lost ?? new Error('no proxy is known');
}

/** The proxy itself, as against an engine behind it. */
function isAway(failure: UpstreamFailure): boolean {
  return failure.kind === 'connection' || (failure.kind === 'status' && failure.code === 'draining');
}

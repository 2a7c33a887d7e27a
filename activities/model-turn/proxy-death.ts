/**
 * A proxy that died amid a reply and an engine that broke off look the same to whoever reads the stream. But
 * a proxy that is gone takes no connection either: then the turn is not the engine's fault, is not counted as
 * one of its few tries, and is asked for again for as long as the run lives.
 */
import type { UpstreamFailure } from './classify-failure.ts';

/** Far longer than a proxy that lives takes to say so. */
const askLimitMs = 2_000;

/**
 * @param ask any request to the proxy; rejects when it cannot be reached.
 * @returns the failure, put down to the proxy's death if that is what broke the stream.
 */
export async function nameProxyDeath(
  failure: UpstreamFailure,
  ask: (signal: AbortSignal) => Promise<unknown>,
): Promise<UpstreamFailure> {
  if (failure.kind !== 'broken-stream') return failure;
  try {
    await ask(AbortSignal.timeout(askLimitMs));
    return failure;
  } catch {
    return { kind: 'connection', message: `the proxy was lost amid a reply: ${failure.message}` };
  }
}

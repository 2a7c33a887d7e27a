import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { boundedRequest } from '../../../activities/tool-servers/requests.ts';

const limits = { idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 };

/** Collects garbage now, whatever the flags of this process are. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Makes a request as the SDK does: it listens to the signal, and never says that it listens no more. */
async function request(caller: AbortSignal): Promise<WeakRef<AbortSignal>> {
  let seen: WeakRef<AbortSignal> | null = null;
  await boundedRequest('desk', limits, caller, async ({ signal }) => {
    if (signal === undefined) throw new Error('it has no signal');
    signal.addEventListener('abort', () => undefined, { once: true });
    seen = new WeakRef(signal);
    return await Promise.resolve('done');
  });
  if (seen === null) throw new Error('nothing was asked');
  return seen;
}

describe('the signal of a request to a tool server', () => {
  it('goes with the request, though its caller lives on and somebody still listens', async () => {
    const caller = new AbortController();
    const signals = await Promise.all(Array.from({ length: 5 }, async () => await request(caller.signal)));
    await vi.waitFor(
      () => {
        collectGarbage();
        expect(signals.filter((signal) => signal.deref() !== undefined)).toEqual([]);
      },
      { timeout: 30_000, interval: 20 },
    );
    caller.abort();
  });

  it('follows its caller', async () => {
    const caller = new AbortController();
    const asked = boundedRequest('desk', limits, caller.signal, async ({ signal }) => {
      await new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('stopped')));
        caller.abort(new Error('the run was cancelled'));
      });
    });
    await expect(asked).rejects.toThrow('the run was cancelled');
  });
});

/** What is wrong with the configuration file as it is now, looked at every few seconds: no event tells of it. */
import { signal } from '@preact/signals';
import { ApiError, get } from '../api/request.ts';
import type { ConfigView } from '../api/types.ts';
import { faultsOf, type ConfigFault } from './config-faults.ts';

const everyMs = 2_000;

export const configFaults = signal<readonly ConfigFault[]>([]);

export function followConfig(ended: AbortSignal): void {
  const look = async (): Promise<void> => {
    if (document.visibilityState === 'hidden') return;
    try {
      configFaults.value = faultsOf(await get<ConfigView>('config', { signal: ended }));
    } catch (error) {
      // A server of an older version has no such address, and without a token it is asked in vain.
      if (error instanceof ApiError && [401, 404].includes(error.status)) clearInterval(timer);
    }
  };
  const timer = setInterval(() => void look(), everyMs);
  ended.addEventListener('abort', () => clearInterval(timer));
  void look();
}

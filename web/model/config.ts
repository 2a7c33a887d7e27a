/** What is wrong with the configuration file as it is now, looked at every few seconds: no event tells of it. */
import { signal } from '@preact/signals';
import { ApiError, get } from '../api/request.ts';
import type { ConfigView } from '../api/types.ts';

export interface ConfigFault {
  /** null: there is none. */
  readonly file: string | null;
  readonly lines: readonly string[];
}

const everyMs = 5_000;

export const configFaults = signal<readonly ConfigFault[]>([]);

export function followConfig(ended: AbortSignal): void {
  const look = async (): Promise<void> => {
    if (document.visibilityState === 'hidden') return;
    try {
      configFaults.value = faultsOf(await get<ConfigView>('config', { signal: ended }));
    } catch (error) {
      // A server of an older version has no such address.
      if (error instanceof ApiError && error.status === 404) clearInterval(timer);
    }
  };
  const timer = setInterval(() => void look(), everyMs);
  ended.addEventListener('abort', () => clearInterval(timer));
  void look();
}

/** Pure. Services that share a file tell of the same faults, which are shown once. */
export function faultsOf({ services }: Pick<ConfigView, 'services'>): ConfigFault[] {
  const found = new Map<string, ConfigFault>();
  for (const { config } of services) {
    if (config === null || config.fault === null) continue;
    const fault = { file: config.source, lines: config.fault.lines };
    found.set(JSON.stringify(fault), fault);
  }
  return [...found.values()];
}

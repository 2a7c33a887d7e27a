/** What services tell to be wrong with the configuration. Pure. */
import type { ConfigView } from '../api/types.ts';

export interface ConfigFault {
  /** null: there is none. */
  readonly file: string | null;
  readonly lines: readonly string[];
}

/** Services that share a file tell of the same faults, which are shown once. */
export function faultsOf({ services }: Pick<ConfigView, 'services'>): ConfigFault[] {
  const found = new Map<string, ConfigFault>();
  for (const { config } of services) {
    if (config === null || config.fault === null) continue;
    const fault = { file: config.source, lines: config.fault.lines };
    found.set(JSON.stringify(fault), fault);
  }
  return [...found.values()];
}

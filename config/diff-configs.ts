/** What is different between two configurations. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigFile } from '../contracts/config-file.ts';

export type ConfigSection = 'pool' | 'policy' | 'tools' | 'callers';

export interface NamedChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface ConfigChange {
  /** Sections that are other ones now; empty: the two mean the same. */
  readonly sections: readonly ConfigSection[];
  /** Replicas by id. A pool in another order is changed without a name here. */
  readonly pool: NamedChanges;
  readonly toolServers: NamedChanges;
  readonly callers: NamedChanges;
  /** Names of the settings of the policy that have other values. */
  readonly policy: readonly string[];
}

export function diffConfigs(before: ConfigFile, after: ConfigFile): ConfigChange {
  const byId = ({ pool }: ConfigFile): Record<string, unknown> =>
    Object.fromEntries(pool.map((replica) => [replica.id, replica]));
  const sections = (['pool', 'policy', 'tools', 'callers'] as const).filter(
    (section) => !isDeepStrictEqual(before[section], after[section]),
  );
  return {
    sections,
    pool: namedChanges(byId(before), byId(after)),
    toolServers: namedChanges(before.tools.mcpServers, after.tools.mcpServers),
    callers: namedChanges(before.callers, after.callers),
    policy: Object.values(namedChanges({ ...before.policy }, { ...after.policy })).flat(),
  };
}

export function namedChanges(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): NamedChanges {
  return {
    added: Object.keys(after).filter((name) => !Object.hasOwn(before, name)),
    changed: Object.keys(after).filter(
      (name) => Object.hasOwn(before, name) && !isDeepStrictEqual(before[name], after[name]),
    ),
    removed: Object.keys(before).filter((name) => !Object.hasOwn(after, name)),
  };
}

/** The change in one log line: what has none is left out. */
export function changeForLog(change: ConfigChange): Record<string, unknown> {
  const { sections, pool, toolServers, callers, policy } = change;
  const named = Object.entries({ pool, toolServers, callers }).flatMap(([name, changes]) => {
    const some = Object.entries(changes).filter(([, names]) => names.length > 0);
    return some.length === 0 ? [] : [[name, Object.fromEntries(some)] as const];
  });
  return { changed: sections, ...Object.fromEntries(named), ...(policy.length > 0 ? { policy } : {}) };
}

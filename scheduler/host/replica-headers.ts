/** The headers of requests to a replica that are the scheduler's own: by which key, and in whose manner. Pure. */
import type { ReplicaConfig } from '../../contracts/config-file.ts';

/** Hosted Anthropic answers no request without it. */
const anthropicVersion = '2023-06-01';

/** @param key the replica's own; null: it has none. */
export function replicaHeaders(
  { engine, apis }: Pick<ReplicaConfig, 'engine' | 'apis'>,
  key: string | null,
): Readonly<Record<string, string>> {
  if (key === null) return {};
  const isAnthropic = engine === 'none' && apis?.includes('messages') === true && !apis.includes('chat');
  return isAnthropic
    ? { 'x-api-key': key, 'anthropic-version': anthropicVersion }
    : { authorization: `Bearer ${key}` };
}

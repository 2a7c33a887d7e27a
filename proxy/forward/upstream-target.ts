/** Where a turn goes on a replica: address, path and the replica's own key. */
import type { Api } from '../../contracts/config-file.ts';
import type { PoolReplica } from '../../contracts/link-protocol.ts';

interface Target {
  readonly origin: string;
  readonly basePath: string;
}

// Replica objects live as long as one pool message, so the cache is as large as the pool.
const targets = new WeakMap<PoolReplica, Target>();

function targetOf(replica: PoolReplica): Target {
  const known = targets.get(replica);
  if (known !== undefined) return known;
  const url = new URL(replica.url);
  const target = { origin: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
  targets.set(replica, target);
  return target;
}

/**
 * @param path below the replica's root, such as `/v1/chat/completions`.
 * @param requestUrl the client's request target, whose query goes on.
 */
export function upstreamAddress(
  replica: PoolReplica,
  path: string,
  requestUrl = '',
): { origin: string; path: string } {
  const { origin, basePath } = targetOf(replica);
  const query = requestUrl.indexOf('?');
  return { origin, path: `${basePath}${path}${query < 0 ? '' : requestUrl.slice(query)}` };
}

/**
 * The header with the replica's own key; null when it has none or its variable is not set. Hosted Anthropic,
 * an engine of no known kind that is asked for messages, takes keys in a header of its own.
 */
export function replicaCredentials(
  replica: PoolReplica,
  api: Api,
  environment: Readonly<Record<string, string | undefined>>,
): [name: string, value: string] | null {
  const key = replica.apiKeyEnv === undefined ? undefined : environment[replica.apiKeyEnv];
  if (key === undefined || key === '') return null;
  if (api === 'messages' && replica.engine === 'none') return ['x-api-key', key];
  return ['authorization', `Bearer ${key}`];
}

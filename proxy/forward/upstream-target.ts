/** Where a turn goes on a replica: address, path and the replica's own key. */
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

/** The replica's own key; null when it has none or its variable is not set. */
export function replicaKey(
  replica: PoolReplica,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  const key = replica.apiKeyEnv === undefined ? undefined : environment[replica.apiKeyEnv];
  return key === undefined || key === '' ? null : key;
}

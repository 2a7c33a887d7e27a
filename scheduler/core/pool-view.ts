/** The pool as the proxies are told of it. */
import type { PoolReplica } from '../../contracts/link-protocol.ts';
import { apisOf } from './routes.ts';
import type { SchedulerState } from './state.ts';

/** Members of the pool in the order of the file. One that was not probed yet counts as unhealthy. */
export function describePool(state: SchedulerState): PoolReplica[] {
  return [...state.replicas.values()]
    .filter((replica) => replica.member)
    .map(({ id, config, models, healthy, toldApis }) => ({
      id,
      url: config.url,
      engine: config.engine,
      kind: config.kind,
      models: [...(models ?? [])],
      apis: [...apisOf({ config, toldApis })],
      images: config.images,
      ...(config.apiKeyEnv === undefined ? {} : { apiKeyEnv: config.apiKeyEnv }),
      healthy: healthy === true,
    }));
}

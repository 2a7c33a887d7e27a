/** The body of `GET /v1/models`: the union of the pool in OpenAI's shape. Pure. */
import type { PoolReplica } from '../contracts/link-protocol.ts';

interface ListedModel {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: 'fermata';
  readonly fermata: {
    /** Whether a conversation may hold images: only if no replica that may get it lacks them. */
    readonly images: boolean;
    /** Which replicas serve it, and how they are. */
    readonly replicas: {
      readonly id: string;
      readonly kind: PoolReplica['kind'];
      readonly apis: readonly string[];
      readonly healthy: boolean;
    }[];
  };
}

/** Models in the order of the pool, each once. */
export function listModels(pool: readonly PoolReplica[]): { object: 'list'; data: ListedModel[] } {
  const models = new Map<string, ListedModel>();
  for (const replica of pool) {
    for (const id of replica.models) {
      if (!models.has(id)) models.set(id, listModel(id, pool));
    }
  }
  return { object: 'list', data: [...models.values()] };
}

function listModel(id: string, pool: readonly PoolReplica[]): ListedModel {
  const serving = pool.filter(({ models }) => models.includes(id));
  const conversing = serving.filter(({ kind }) => kind === 'generative');
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: 'fermata',
    fermata: {
      images: conversing.length > 0 && conversing.every(({ images }) => images),
      replicas: serving.map(({ id: replica, kind, apis, healthy }) => ({ id: replica, kind, apis, healthy })),
    },
  };
}

/** Models that no healthy replica serves now: their turns wait. */
export function modelsWithoutReplica(pool: readonly PoolReplica[]): string[] {
  return listModels(pool)
    .data.filter((model) => model.fermata.replicas.every((replica) => !replica.healthy))
    .map((model) => model.id);
}

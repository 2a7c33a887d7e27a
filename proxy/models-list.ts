/** The body of `GET /v1/models`: the union of the pool in OpenAI's shape. Pure. */
import type { PoolReplica } from '../contracts/link-protocol.ts';

interface ListedModel {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: 'fermata';
  /** Ours: which replicas serve it, and how they are. */
  readonly fermata: {
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
      const model = models.get(id) ?? {
        id,
        object: 'model',
        created: 0,
        owned_by: 'fermata',
        fermata: { replicas: [] },
      };
      const { kind, apis, healthy } = replica;
      model.fermata.replicas.push({ id: replica.id, kind, apis, healthy });
      models.set(id, model);
    }
  }
  return { object: 'list', data: [...models.values()] };
}

/** Models that no healthy replica serves now: their turns wait. */
export function modelsWithoutReplica(pool: readonly PoolReplica[]): string[] {
  return listModels(pool)
    .data.filter((model) => model.fermata.replicas.every((replica) => !replica.healthy))
    .map((model) => model.id);
}

/** The words with which a turn is refused that never reached, or had to leave, its engine. Pure. */
import { keepsRunState, type Api } from '../contracts/config-file.ts';
import type { ErrorCode } from '../contracts/error-codes.ts';
import type { PoolReplica } from '../contracts/link-protocol.ts';
import { Fault } from './faults.ts';

const overloadedRetrySeconds = 5;
const drainingRetrySeconds = 1;

export function refusalFault(code: ErrorCode, model: string | null): Fault {
  switch (code) {
    case 'unknown_model':
      return new Fault(
        code,
        model === null
          ? 'no replica of the pool serves this request'
          : `no generative replica serves model '${model}'`,
      );
    case 'run_ended':
      return new Fault(code, 'the run was ended while this turn was held or in flight; start a new run');
    case 'overloaded':
      return new Fault(code, 'too many turns are held; try again later', overloadedRetrySeconds);
    case 'draining':
      return new Fault(code, 'this proxy is stopping; send the request again', drainingRetrySeconds);
    case 'engine_unreachable':
      return new Fault(code, 'the replica this turn was admitted to has left the pool; try again');
    default:
      return new Fault(code, `the turn was refused: ${code}`);
  }
}

/**
 * The fault for a turn that no replica of the pool can take: because nobody serves its model, or nobody who
 * does serves it through this endpoint. Whether a replica is healthy changes nothing: such turns wait.
 */
export function unservedFault(
  { model, api }: { readonly model: string | null; readonly api: Api },
  pool: readonly PoolReplica[],
): Fault {
  const serving = pool.filter((replica) => model === null || replica.models.includes(model));
  const apis = [...new Set(serving.flatMap((replica) => replica.apis))];
  if (serving.length === 0 || apis.includes(api)) {
    return keepsRunState(api) || model === null
      ? refusalFault('unknown_model', model)
      : new Fault('unknown_model', `no replica serves model '${model}'`);
  }
  const what = model === null ? api : `${api} for model '${model}'`;
  const canBeAdded = serving.some(({ kind }) => kind === 'generative' || !keepsRunState(api));
  const remedy = `${canBeAdded ? `add "${api}" to the apis of one that can, or ` : ''}send this request to another endpoint`;
  return new Fault(
    'unsupported_api',
    `no replica serves ${what}; ${namesOf(serving)} ${serving.length === 1 ? 'serves' : 'serve'} ${apis.join(', ')}: ${remedy}`,
  );
}

/** A pool can be large. */
const maxNamed = 3;

function namesOf(replicas: readonly PoolReplica[]): string {
  const names = replicas.slice(0, maxNamed).map((replica) => replica.id);
  const more = replicas.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

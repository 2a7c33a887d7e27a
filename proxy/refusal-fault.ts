/** The words with which a turn is refused that never reached, or had to leave, its engine. Pure. */
import type { ErrorCode } from '../contracts/error-codes.ts';
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

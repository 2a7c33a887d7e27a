/** The load generator's process as the bench sees it: gives an order, awaits what came of it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { SetupFault } from '../../cli/setup/setup-fault.ts';
import {
  answerSchema,
  type ClosedOrder,
  type ClosedResult,
  type LoadResult,
  type OpenOrder,
  type OpenResult,
  type Order,
} from './load-protocol.ts';
import { stopChild } from './processes.ts';

export interface LoadGenerator {
  readonly pid: number;
  open(order: OpenOrder): Promise<OpenResult>;
  closed(order: ClosedOrder): Promise<ClosedResult>;
  /** @returns how many are open and unanswered. */
  hold(order: Extract<Order, { kind: 'hold' }>): Promise<number>;
  release(): Promise<void>;
  close(): Promise<void>;
}

export async function startLoadGenerator(): Promise<LoadGenerator> {
  const child = fork(join(import.meta.dirname, 'load-main.ts'), { execArgv: ['--import', 'tsx'] });
  await once(child, 'spawn');
  if (child.pid === undefined) throw new SetupFault('the load generator has no process id');

  async function give<Kind extends LoadResult['kind']>(
    order: Order,
    kind: Kind,
  ): Promise<Extract<LoadResult, { kind: Kind }>> {
    const [message] = await new Promise<unknown[]>((resolve, reject) => {
      child.once('message', (...received) => resolve(received));
      child.once('exit', () => reject(new Error('the load generator has stopped')));
      child.send(order);
    });
    child.removeAllListeners('exit');
    const answer = answerSchema.parse(message);
    if (!answer.ok) throw new Error(`the load generator failed: ${answer.reason}`);
    if (answer.result.kind !== kind) throw new Error(`asked for ${kind}, got ${answer.result.kind}`);
    return answer.result as Extract<LoadResult, { kind: Kind }>;
  }

  return {
    pid: child.pid,
    open: async (order) => await give(order, 'open'),
    closed: async (order) => await give(order, 'closed'),
    hold: async (order) => (await give(order, 'held')).open,
    release: async () => {
      await give({ kind: 'release' }, 'released');
    },
    close: async () => await stopChild(child),
  };
}

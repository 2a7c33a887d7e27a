/** How the pool stands, as the scheduler tells it, and as much of that as an asker may see. */
import { AddressOrder, type Addresses } from '../../contracts/addresses.ts';
import { schedulerStatusSchema, type SchedulerStatus } from '../../contracts/scheduler-status.ts';
import type { Asker } from './asker.ts';
import { SharedRead } from './shared-read.ts';
import { UserFault } from './user-fault.ts';

export interface PoolView {
  readonly replicas: readonly (Omit<SchedulerStatus['replicas'][number], 'url'> & {
    /** null: the asker may not see where replicas are. */
    readonly url: string | null;
  })[];
  /** Held turns; those of others, for whom that is not to be seen, are one entry a class without a caller. */
  readonly held: readonly (Omit<SchedulerStatus['held'][number], 'caller'> & {
    readonly caller: string | null;
  })[];
  readonly runsByPhase: SchedulerStatus['runsByPhase'];
  /** Live runs that the asker may see, also those of agents with a loop of their own. */
  readonly runs: SchedulerStatus['runs'];
  readonly proxies: number;
  readonly policy: SchedulerStatus['policy'];
}

const limitMs = 3_000;
/** Many who ask together cost one question. */
const keepMs = 200;
const maxBytes = 4 * 1_024 * 1_024;

export class PoolClient {
  readonly #schedulers: AddressOrder | null;
  readonly #authorization: Readonly<Record<string, string>>;
  readonly #status: SharedRead<SchedulerStatus>;

  /**
   * @param addresses root of the scheduler, or of several of which the active one knows; null: nobody said where.
   * @param token what the services send to each other; null: nothing.
   */
  constructor(addresses: Addresses | null, token: string | null) {
    this.#schedulers = addresses === null ? null : new AddressOrder(addresses, () => performance.now());
    this.#authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    this.#status = new SharedRead(async () => await this.#read(), keepMs);
  }

  /** @throws UserFault in words when the scheduler cannot be asked. */
  async status(): Promise<SchedulerStatus> {
    return await this.#status.get();
  }

  async #read(): Promise<SchedulerStatus> {
    if (this.#schedulers === null) {
      throw new UserFault(
        'busy',
        'the pool is not known: this mcp-server was not told where the scheduler is; set FERMATA_SCHEDULER_URL',
      );
    }
    const faults: string[] = [];
    let cause: unknown;
    for (const address of this.#schedulers.inTurn()) {
      try {
        const status = await this.#ask(address);
        // It has no links: the pool it sees, but no turn and no run.
        if (status.lease?.role === 'standby') throw new Error('it stands by');
        this.#schedulers.noteAnswered(address);
        return status;
      } catch (error) {
        this.#schedulers.noteAway(address);
        faults.push(`the scheduler at ${address} does not tell (${wordsOf(error)})`);
        cause = error;
      }
    }
    throw new UserFault(
      'busy',
      `the pool is not known: ${faults.join('; ')}; see that it runs, or try again in a moment`,
      { cause },
    );
  }

  async #ask(address: string): Promise<SchedulerStatus> {
    const response = await fetch(`${address}/status`, {
      headers: this.#authorization,
      signal: AbortSignal.timeout(limitMs),
    });
    if (!response.ok) {
      await response.body?.cancel();
      const why =
        response.status === 401 || response.status === 403 ? '; FERMATA_TOKEN is not the one set there' : '';
      throw new Error(`HTTP ${response.status}${why}`);
    }
    return schedulerStatusSchema.parse(JSON.parse(await boundedText(response)));
  }
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`its answer is over ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${limitMs / 1_000} s`;
  if (error.name === 'ZodError') return 'its answer is of another version';
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  return cause.message === '' ? code : cause.message;
}

/** Pure. */
export function poolFor(
  { replicas, held, runs, runsByPhase, proxies, policy }: SchedulerStatus,
  { caller, seesAll }: Pick<Asker, 'caller' | 'seesAll'>,
): PoolView {
  const rest = { runsByPhase, proxies, policy };
  if (seesAll) return { ...rest, replicas, held, runs };
  return {
    ...rest,
    replicas: replicas.map((replica) => ({ ...replica, url: null })),
    held: mergeOthers(held, caller),
    runs: runs.filter((run) => run.caller === caller),
  };
}

function mergeOthers(held: SchedulerStatus['held'], own: string): PoolView['held'] {
  const merged = new Map<string, PoolView['held'][number]>();
  for (const { class: serviceClass, caller, turns, oldestMs } of held) {
    const shown = caller === own ? own : null;
    const key = JSON.stringify([serviceClass, shown]);
    const before = merged.get(key);
    merged.set(key, {
      class: serviceClass,
      caller: shown,
      turns: turns + (before?.turns ?? 0),
      oldestMs: Math.max(oldestMs, before?.oldestMs ?? 0),
    });
  }
  return [...merged.values()];
}

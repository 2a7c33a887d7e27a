/**
 * How many runs a caller may have at work at once, over all its trees. Temporal's list, which lags about
 * a second, is put right by what this server started itself; at the limit every run in question is looked
 * at, so that the place of a run that has ended, or was killed, is free at once. Several servers that
 * start runs of one caller in the same second may together go over the limit by what the others started.
 */
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Caller, Handle } from '../../contracts/ids.ts';
import { callerFullText, searchAttributes, workflowTypes } from '../../contracts/run-names.ts';
import { isClosed } from './run-view.ts';
import { FreshRead } from './fresh-read.ts';
import { SharedRead } from './shared-read.ts';
import { quoteFilterValue } from './list-runs.ts';
import type { TemporalLink } from './temporal-link.ts';
import { UserFault } from './user-fault.ts';

/** Milliseconds after which Temporal's list surely shows a run. */
const listLagMs = 10_000;
const keepMs = 1_000;
/** Callers remembered; what is forgotten costs a look. */
const maxCallers = 1_000;
const sideBySide = 20;

interface Account {
  /** Runs at work in Temporal's list. */
  readonly listed: SharedRead<ReadonlySet<Handle>>;
  /** Runs that are really at work: each was looked at. */
  readonly atWork: FreshRead<ReadonlySet<Handle>>;
  /** Runs that this server is starting now, in the order in which they came. */
  readonly starting: Set<Handle>;
  /** When each run that this server started lately was started, in ms. */
  readonly started: Map<Handle, number>;
}

export class CallerLimit {
  readonly #temporal: TemporalLink;
  readonly #maxRunningOf: (caller: Caller) => number;
  readonly #accounts = new Map<Caller, Account>();

  /** @param maxRunningOf asked anew for each start: the limits may change meanwhile. */
  constructor(temporal: TemporalLink, maxRunningOf: (caller: Caller) => number) {
    this.#temporal = temporal;
    this.#maxRunningOf = maxRunningOf;
  }

  maxRunning(caller: Caller): number {
    return this.#maxRunningOf(caller);
  }

  /**
   * Does `start` in a place of the caller.
   * @throws UserFault when the caller has no free place; what `start` throws.
   */
  async inPlace<T>(caller: Caller, handle: Handle, start: () => Promise<T>): Promise<T> {
    const account = this.#accountOf(caller);
    const ahead = new Set(account.starting).add(handle);
    const most = this.maxRunning(caller);
    account.starting.add(handle);
    try {
      if (!(await this.#hasRoom(account, ahead, most))) {
        throw new UserFault('busy', callerFullText(most));
      }
      const result = await start();
      account.started.set(handle, Date.now());
      return result;
    } finally {
      account.starting.delete(handle);
    }
  }

  #accountOf(caller: Caller): Account {
    const known = this.#accounts.get(caller);
    if (known !== undefined) return known;
    if (this.#accounts.size >= maxCallers) this.#forgetIdle();
    const started: Account['started'] = new Map();
    const account: Account = {
      listed: new SharedRead(async () => await this.#list(caller), keepMs),
      atWork: new FreshRead(async () => await this.#lookAtEach(caller, started)),
      starting: new Set(),
      started,
    };
    this.#accounts.set(caller, account);
    return account;
  }

  #forgetIdle(): void {
    for (const [caller, account] of this.#accounts) {
      dropOld(account);
      if (account.starting.size === 0 && account.started.size === 0) this.#accounts.delete(caller);
    }
  }

  /** @param ahead starts that came before, and the one in question: they have the first claim on places. */
  async #hasRoom(account: Account, ahead: ReadonlySet<Handle>, most: number): Promise<boolean> {
    dropOld(account);
    const known = new Set([...(await account.listed.get()), ...account.started.keys(), ...ahead]);
    if (known.size <= most) return true;
    return new Set([...(await account.atWork.get()), ...ahead]).size <= most;
  }

  /** Bounded: more than the caller may have at work says no more than that. */
  async #list(caller: Caller): Promise<ReadonlySet<Handle>> {
    const found = new Set<Handle>();
    const query = runningOf(caller);
    return await this.#temporal.call(async (client) => {
      for await (const { workflowId } of client.workflow.list({ query, pageSize: 500 })) {
        found.add(workflowId as Handle);
        if (found.size >= this.maxRunning(caller) * 2) break;
      }
      return found;
    });
  }

  /** Of the runs in the list, and those started lately that it may not show yet, the ones that go on. */
  async #lookAtEach(caller: Caller, started: Account['started']): Promise<ReadonlySet<Handle>> {
    const handles = [...new Set([...started.keys(), ...(await this.#list(caller))])];
    const atWork = new Set<Handle>();
    for (let from = 0; from < handles.length; from += sideBySide) {
      const some = handles.slice(from, from + sideBySide);
      const ended = await Promise.all(some.map(async (handle) => await this.#hasEnded(handle)));
      for (const [index, handle] of some.entries()) {
        if (ended[index] === true) started.delete(handle);
        else atWork.add(handle);
      }
    }
    return atWork;
  }

  async #hasEnded(handle: string): Promise<boolean> {
    try {
      return isClosed(await this.#temporal.call((client) => client.workflow.getHandle(handle).describe()));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return true;
      throw error;
    }
  }
}

function runningOf(caller: Caller): string {
  return `WorkflowType = '${workflowTypes.agentRun}' AND ExecutionStatus = 'Running' AND ${searchAttributes.caller} = ${quoteFilterValue(caller)}`;
}

function dropOld({ started }: Account): void {
  const oldest = Date.now() - listLagMs;
  for (const [handle, atMs] of started) if (atMs < oldest) started.delete(handle);
}

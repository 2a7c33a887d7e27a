/** Verbs about runs that start, wait and end: spawn, run, await, approve, cancel. */
import type { Argv } from 'yargs';
import { CommandFault, exitCodes } from '../exit-codes.ts';
import { approvalLines } from '../output/run-text.ts';
import { plural } from '../output/text.ts';
import { spawnOptions, spawnRequest, type SpawnOptions } from './spawn-options.ts';
import { deskOf, type CommonOptions, type Desk, type Verb } from './verb.ts';
import { waitAndPrint } from './wait-and-print.ts';

interface TimeoutOption {
  readonly timeout?: number | undefined;
}

function timeoutOption<T>(yargs: Argv<T>): Argv<T & TimeoutOption> {
  return yargs.option('timeout', { type: 'number', describe: 'seconds to wait at most; the runs go on' });
}

function timeoutOf({ timeout }: TimeoutOption): number | null {
  if (timeout === undefined) return null;
  if (Number.isFinite(timeout) && timeout >= 0) return timeout;
  throw new CommandFault('--timeout: expected seconds, 0 or more', exitCodes.usage);
}

async function start(args: SpawnOptions, { api, printer, world }: Desk) {
  const spawned = await api.spawn(await spawnRequest(args, world));
  for (const note of spawned.notes) printer.note(`note: ${note}`);
  return spawned;
}

export const spawnVerb: Verb<SpawnOptions & TimeoutOption & { readonly await?: boolean | undefined }> = {
  command: 'spawn <task>',
  describe: 'Start a run, and print its handle',
  options: (yargs) =>
    timeoutOption(spawnOptions(yargs)).option('await', { type: 'boolean', describe: 'wait for its end' }),
  async run(args, world) {
    const desk = deskOf(args, world);
    const timeoutSeconds = timeoutOf(args);
    const spawned = await start(args, desk);
    if (args.await === true) {
      return await waitAndPrint([spawned.handle], { mode: 'all', timeoutSeconds, answerOnly: false }, desk);
    }
    desk.printer.answer(
      spawned,
      () => `${spawned.handle}${spawned.existing ? '  (the same request id had started it)' : ''}`,
    );
    return exitCodes.ok;
  },
};

export const runVerb: Verb<SpawnOptions & TimeoutOption> = {
  command: 'run <task>',
  describe: 'Start a run, wait for it and print its answer',
  options: (yargs) => timeoutOption(spawnOptions(yargs)),
  async run(args, world) {
    const desk = deskOf(args, world);
    const timeoutSeconds = timeoutOf(args);
    const { handle } = await start(args, desk);
    desk.printer.progress(`${handle} ...`);
    return await waitAndPrint([handle], { mode: 'all', timeoutSeconds, answerOnly: true }, desk);
  },
};

interface AwaitOptions extends CommonOptions, TimeoutOption {
  readonly handles: string[];
  readonly any?: boolean | undefined;
}

const mostHandles = 100;

export const awaitVerb: Verb<AwaitOptions> = {
  command: 'await <handles..>',
  describe: 'Wait for runs to end, and print them',
  options: (yargs) =>
    timeoutOption(yargs)
      .positional('handles', { type: 'string', array: true, demandOption: true, describe: 'runs' })
      .option('any', { type: 'boolean', describe: 'the first that has ended is enough' }),
  async run(args, world) {
    if (args.handles.length > mostHandles) {
      throw new CommandFault(`await: at most ${mostHandles} runs at once`, exitCodes.usage);
    }
    const wait = { mode: args.any === true ? 'any' : 'all', timeoutSeconds: timeoutOf(args) } as const;
    return await waitAndPrint(args.handles, { ...wait, answerOnly: false }, deskOf(args, world));
  },
};

interface ApproveOptions extends CommonOptions {
  readonly handle: string;
  readonly approval?: string | undefined;
  readonly decline?: boolean | undefined;
}

export const approveVerb: Verb<ApproveOptions> = {
  command: 'approve <handle> [approval]',
  describe: 'Allow a tool call that waits, or decline it',
  options: (yargs) =>
    yargs
      .positional('handle', { type: 'string', demandOption: true, describe: 'the run' })
      .positional('approval', { type: 'string', describe: 'which call; needed where several wait' })
      .option('decline', { type: 'boolean', describe: 'the call is not made' }),
  async run(args, world) {
    const desk = deskOf(args, world);
    const id = args.approval ?? (await onlyApproval(args.handle, desk));
    const told = await desk.api.approve(args.handle, id, args.decline !== true);
    desk.printer.answer(told, () => `${told.decided.allow ? 'allowed' : 'declined'}: ${told.decided.tool}`);
    return exitCodes.ok;
  },
};

/** @throws CommandFault when none waits, or several do: what is allowed is never guessed. */
async function onlyApproval(handle: string, { api, printer }: Desk): Promise<string> {
  const run = await api.run(handle);
  const [first, ...others] = run.pendingApprovals;
  if (first === undefined)
    throw new CommandFault(`nothing of ${handle} waits for approval; it is ${run.status}`);
  if (others.length === 0) return first.id;
  for (const line of approvalLines(run, printer.style)) printer.note(line);
  throw new CommandFault(`${plural(others.length + 1, 'call')} wait: name one`, exitCodes.usage);
}

interface CancelOptions extends CommonOptions {
  readonly handle: string;
  readonly reason?: string | undefined;
}

export const cancelVerb: Verb<CancelOptions> = {
  command: 'cancel <handle>',
  describe: 'End a run and all below it',
  options: (yargs) =>
    yargs
      .positional('handle', { type: 'string', demandOption: true, describe: 'the run' })
      .option('reason', { type: 'string', describe: 'why; kept with the run' }),
  async run(args, world) {
    const { api, printer } = deskOf(args, world);
    const told = await api.cancel(args.handle, args.reason);
    printer.answer(told, () =>
      told.later
        ? 'no worker answers now; all of it ends as soon as one does'
        : told.reached === 0
          ? `it had ended before (${told.status})`
          : `${plural(told.reached, 'run')} asked to end`,
    );
    return exitCodes.ok;
  },
};

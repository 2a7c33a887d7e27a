/** The options of `spawn` and `run`, and the request they make. */
import type { Argv } from 'yargs';
import { CommandFault, exitCodes } from '../exit-codes.ts';
import type { CommonOptions, World } from './verb.ts';

export interface SpawnOptions extends CommonOptions {
  readonly task: string;
  readonly model?: string | undefined;
  readonly class?: string | undefined;
  readonly system?: string | undefined;
  readonly tools?: string | undefined;
  readonly approveTools?: string | undefined;
  readonly maxToolCalls?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly parent?: string | undefined;
  readonly budgetTokens?: number | undefined;
  readonly budgetToolCalls?: number | undefined;
  readonly budgetSeconds?: number | undefined;
  readonly requestId?: string | undefined;
}

export function spawnOptions(yargs: Argv<CommonOptions>): Argv<SpawnOptions> {
  return yargs
    .positional('task', {
      type: 'string',
      demandOption: true,
      describe: 'what to do, complete in itself; - reads it from standard input',
    })
    .option('model', { type: 'string', describe: 'a model of the pool' })
    .option('class', { choices: ['interactive', 'batch'], describe: 'batch yields to others' })
    .option('system', { type: 'string', describe: 'system prompt' })
    .option('tools', { type: 'string', describe: 'tools it may use, with commas between; "" for none' })
    .option('approve-tools', { type: 'string', describe: 'tools whose calls wait for approval' })
    .option('max-tool-calls', { type: 'number', describe: 'after so many it must answer' })
    .option('max-tokens', { type: 'number', describe: 'most tokens of one reply; 0: the engine decides' })
    .option('parallel-tool-calls', { type: 'boolean', describe: 'calls of one reply run side by side' })
    .option('parent', { type: 'string', describe: 'handle of the run it belongs to' })
    .option('budget-tokens', { type: 'number', describe: 'most tokens, of all below it too' })
    .option('budget-tool-calls', { type: 'number', describe: 'most tool calls, of all below it too' })
    .option('budget-seconds', { type: 'number', describe: 'seconds after which it all ends' })
    .option('request-id', { type: 'string', describe: 'the same id gives the same run, never a second one' });
}

/** The body of `POST /api/runs`; the server checks what it says. */
export async function spawnRequest(options: SpawnOptions, world: World): Promise<Record<string, unknown>> {
  const request = {
    // The parser hands `-` on as an empty text.
    task: options.task === '-' || options.task === '' ? await readTask(world) : options.task,
    model: options.model,
    serviceClass: options.class,
    system: options.system,
    tools: namesOf(options.tools),
    approveTools: namesOf(options.approveTools),
    maxToolCalls: options.maxToolCalls,
    maxTokens: options.maxTokens,
    parallelToolCalls: options.parallelToolCalls,
    parent: options.parent,
    budgetTokens: options.budgetTokens,
    budgetToolCalls: options.budgetToolCalls,
    budgetSeconds: options.budgetSeconds,
    requestId: options.requestId,
  };
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}

function namesOf(text: string | undefined): string[] | undefined {
  return text
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

const maxTaskBytes = 1_048_576;

async function readTask({ stdin }: World): Promise<string> {
  if (stdin.isTTY === true)
    throw new CommandFault('the task is empty; write it, or pipe it in with -', exitCodes.usage);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxTaskBytes) {
      throw new CommandFault(`the task on standard input is over ${maxTaskBytes} bytes`, exitCodes.usage);
    }
    chunks.push(piece);
  }
  const text = Buffer.concat(chunks).toString('utf8').trim();
  if (text === '') throw new CommandFault('the task on standard input is empty', exitCodes.usage);
  return text;
}

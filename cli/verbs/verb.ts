/** What a verb of the command line is given, and how its options are told to the parser. */
import type { ArgumentsCamelCase, Argv, CommandModule } from 'yargs';
import type { ExitCode } from '../exit-codes.ts';
import { createPrinter, type Printer } from '../output/printer.ts';
import { createApiClient, type ApiClient } from '../server/api-client.ts';
import { readWhere, type Environment } from '../server/where.ts';

/** What surrounds the command; a test gives its own. */
export interface World {
  readonly environment: Environment;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  /** Aborted by the first Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
}

export interface CommonOptions {
  readonly json?: boolean | undefined;
  readonly url?: string | undefined;
  readonly caller?: string | undefined;
}

/** A verb with what it needs at hand. */
export interface Desk {
  readonly world: World;
  readonly printer: Printer;
  readonly api: ApiClient;
}

export interface Verb<Options> {
  readonly command: string | readonly string[];
  readonly describe: string;
  readonly options: (yargs: Argv<CommonOptions>) => Argv<Options>;
  readonly run: (args: ArgumentsCamelCase<Options>, world: World) => Promise<ExitCode>;
}

/** Of verbs that ask a running fermata. */
export function commonOptions(yargs: Argv): Argv<CommonOptions> {
  return yargs
    .option('json', {
      type: 'boolean',
      describe: 'JSON; the default where output is no terminal. --no-json: text',
    })
    .option('url', { type: 'string', describe: 'address of the mcp-server (FERMATA_MCP_URL)' })
    .option('caller', { type: 'string', describe: 'whose runs these are, where no named token says it' });
}

export function printerOf(json: boolean | undefined, world: World): Printer {
  return createPrinter({ json, stdout: world.stdout, stderr: world.stderr, environment: world.environment });
}

export function deskOf(args: CommonOptions, world: World): Desk {
  return {
    world,
    printer: printerOf(args.json, world),
    api: createApiClient(readWhere(args, world.environment)),
  };
}

/** @param finish takes the exit code of the verb that ran. */
export function commandOf<Options>(
  verb: Verb<Options>,
  world: World,
  finish: (code: ExitCode) => void,
): CommandModule<object, Options> {
  return {
    command: verb.command,
    describe: verb.describe,
    builder: (yargs: Argv) => verb.options(commonOptions(yargs)),
    handler: async (args) => finish(await verb.run(args, world)),
  };
}

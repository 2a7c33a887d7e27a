/**
 * Verbs that serve until they are stopped: up, mcp. What they start is loaded when it is asked for: the other
 * verbs are there in a third of the time without it.
 */
import { engineChoices, type EngineChoice } from '../engine-choices.ts';
import { CommandFault, exitCodes } from '../exit-codes.ts';
import type { CommonOptions, Verb } from './verb.ts';

interface UpVerbOptions extends CommonOptions {
  readonly engine?: EngineChoice | undefined;
  readonly config?: string | undefined;
  readonly separate?: boolean | undefined;
}

export const upVerb: Verb<UpVerbOptions> = {
  command: 'up',
  describe: 'Start everything: Temporal, a pool, and the four services (npm start)',
  options: (yargs) =>
    yargs
      .option('json', { type: 'boolean', describe: 'print the ready line as one JSON object' })
      .hide('url')
      .hide('caller')
      .option('engine', { choices: engineChoices, describe: 'the built-in pool (default simulated)' })
      .option('config', {
        type: 'string',
        describe: 'a pool of your own (default: FERMATA_CONFIG, then fermata.yaml if present)',
      })
      .option('separate', { type: 'boolean', describe: 'one process for each service' }),
  async run({ engine, config, separate, json }, { environment }) {
    if (engine !== undefined && config !== undefined) {
      throw new CommandFault(
        '--engine starts a built-in pool and --config names your own: give one of them',
        exitCodes.usage,
      );
    }
    const { up } = await import('../up.ts');
    return await up(
      { engine: engine ?? null, config: config ?? null, separate: separate === true, json: json === true },
      environment,
    );
  },
};

export const mcpVerb: Verb<CommonOptions & { readonly forms: boolean }> = {
  command: 'mcp',
  describe: 'Serve MCP on standard input and output, for clients that start their servers',
  options: (yargs) =>
    yargs.hide('json').hide('url').hide('caller').option('forms', {
      type: 'boolean',
      default: true,
      describe: '--no-forms asks nobody with forms: for a client that declares them where nobody sees them',
    }),
  async run({ forms }, { environment }) {
    const { mcp } = await import('../mcp.ts');
    return await mcp(forms ? 'on' : 'off', environment);
  },
};

/** `fermata setup temporal`; what it does is loaded when it is asked for. */
import { CommandFault, exitCodes } from '../exit-codes.ts';
import type { SetUpReport } from '../temporal/set-up.ts';
import { printerOf, type CommonOptions, type Verb } from './verb.ts';

interface SetupOptions extends CommonOptions {
  readonly what: 'temporal';
  readonly namespace?: string | undefined;
  readonly createNamespace?: boolean | undefined;
  readonly retention?: string | undefined;
  readonly check?: boolean | undefined;
}

export const setupVerb: Verb<SetupOptions> = {
  command: 'setup <what>',
  describe:
    'Prepare a Temporal cluster (TEMPORAL_ADDRESS, …): its search attributes, and its namespace if asked for',
  options: (yargs) =>
    yargs
      .hide('url')
      .hide('caller')
      .positional('what', {
        choices: ['temporal'] as const,
        demandOption: true,
        describe: 'what to prepare',
      })
      .option('namespace', {
        type: 'string',
        describe: 'which one (default: TEMPORAL_NAMESPACE, then default)',
      })
      .option('create-namespace', { type: 'boolean', describe: 'create it where it is missing' })
      .option('retention', {
        type: 'string',
        describe: 'how long ended runs are kept, such as 72h or 7d (a new namespace: 72h)',
      })
      .option('check', {
        type: 'boolean',
        describe: 'change nothing; exit with 1 where something is missing',
      }),
  async run(args, world) {
    const printer = printerOf(args.json, world);
    const { parseRetention } = await import('../temporal/namespace.ts');
    const { setUpTemporal, shortRetention } = await import('../temporal/set-up.ts');
    const { temporalOf } = await import('../temporal-of.ts');
    const { retention } = args;
    const retentionHours = retention === undefined ? null : parseRetention(retention);
    if (retention !== undefined && retentionHours === null) {
      throw new CommandFault(
        `--retention: got '${retention}', expected hours or days such as 72h or 7d`,
        exitCodes.usage,
      );
    }
    const named = temporalOf(world.environment);
    const settings = args.namespace === undefined ? named : { ...named, namespace: args.namespace };
    const report = await setUpTemporal(settings, {
      createNamespace: args.createNamespace === true,
      retentionHours,
      checkOnly: args.check === true,
    });
    const warning = shortRetention(report.retentionHours);
    printer.answer({ ...report, warning }, () => textOf(report, warning));
    return report.missing.length === 0 ? exitCodes.ok : exitCodes.failed;
  },
};

function textOf(report: SetUpReport, warning: string | null): string {
  const { retentionHours, retentionHoursBefore: before } = report;
  const kept = `ended runs are kept for ${retentionHours} h${before === null ? '' : ` (${before} h before)`}`;
  return [
    `${report.address}, namespace ${report.namespace}${report.created ? ' (created)' : ''}: ${kept}`,
    ...report.added.map((name) => `  ${name}  added`),
    ...report.present.map((name) => `  ${name}  there already`),
    ...report.missing.map((name) => `  ${name}  MISSING`),
    ...(warning === null ? [] : [warning]),
  ].join('\n');
}

/** `fermata setup temporal`; what it does is loaded when it is asked for. */
import { exitCodes } from '../exit-codes.ts';
import { printerOf, type CommonOptions, type Verb } from './verb.ts';

export const setupVerb: Verb<CommonOptions & { readonly what: 'temporal' }> = {
  command: 'setup <what>',
  describe: 'Prepare a Temporal cluster: its search attributes (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …)',
  options: (yargs) =>
    yargs
      .hide('url')
      .hide('caller')
      .positional('what', {
        choices: ['temporal'] as const,
        demandOption: true,
        describe: 'what to prepare',
      }),
  async run(args, world) {
    const printer = printerOf(args.json, world);
    const { setUpTemporal } = await import('../set-up-temporal.ts');
    const { temporalOf } = await import('../temporal-of.ts');
    const report = await setUpTemporal(temporalOf(world.environment));
    printer.answer(report, () =>
      [
        `${report.address}, namespace ${report.namespace}`,
        ...report.added.map((name) => `  ${name}  added`),
        ...report.present.map((name) => `  ${name}  there already`),
      ].join('\n'),
    );
    return exitCodes.ok;
  },
};

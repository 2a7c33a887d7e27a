/** `fermata versions`: builds of the workers, and which of them new runs go to; see docs/deploys.md. */
import { parseSettings } from '../../contracts/settings.ts';
import { CommandFault, exitCodes } from '../exit-codes.ts';
import { alignColumns, plural } from '../output/text.ts';
import type { Build } from '../temporal/worker-versions.ts';
import { printerOf, type CommonOptions, type Verb } from './verb.ts';

interface VersionsOptions extends CommonOptions {
  readonly deployment?: string | undefined;
  readonly setCurrent?: string | undefined;
}

export const versionsVerb: Verb<VersionsOptions> = {
  command: 'versions',
  describe: 'Builds of the workers in Temporal, and making one current in a deploy',
  options: (yargs) =>
    yargs
      .hide('url')
      .hide('caller')
      .option('deployment', { type: 'string', describe: 'which one (default: FERMATA_DEPLOYMENT)' })
      .option('set-current', {
        type: 'string',
        describe: 'the build that new runs go to from now on; its workers must be there',
      }),
  async run(args, world) {
    const { deployment, taskQueue } = parseSettings(world.environment);
    const name = args.deployment ?? deployment?.name;
    if (name === undefined) {
      throw new CommandFault('say which: --deployment NAME, or FERMATA_DEPLOYMENT', exitCodes.usage);
    }
    const { temporalOf } = await import('../temporal-of.ts');
    const { readVersions } = await import('../temporal/read-versions.ts');
    const settings = temporalOf(world.environment);
    const builds = await readVersions(settings, { name, taskQueue, setCurrent: args.setCurrent ?? null });
    printerOf(args.json, world).answer({ deployment: name, namespace: settings.namespace, builds }, () =>
      builds.length === 0
        ? `Temporal knows no build of ${name}: its workers have not asked for work yet`
        : alignColumns(builds.map(rowOf)).join('\n'),
    );
    return exitCodes.ok;
  },
};

function rowOf({
  version,
  status,
  hasWorkers,
  openRuns,
}: Build & { readonly hasWorkers: boolean }): string[] {
  const stands = !hasWorkers && openRuns > 0 ? ': they stand still' : '';
  return [
    version.buildId,
    status,
    hasWorkers ? 'has workers' : 'no workers',
    `${plural(openRuns, 'open run')}${stands}`,
  ];
}

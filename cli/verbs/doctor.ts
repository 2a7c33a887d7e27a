/** `fermata doctor`: looks at everything fermata stands on and says what is wrong and what to do. */
import { parseSettings, SettingsFault, type Settings } from '../../contracts/settings.ts';
import { packageVersion } from '../../mcp-server/runs/package-version.ts';
import { fault, type Finding } from '../doctor/finding.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Printer, Style } from '../output/printer.ts';
import { oneLine, plural } from '../output/text.ts';
import { readWhere } from '../server/where.ts';
import { SetupFault } from '../setup/setup-fault.ts';
import { printerOf, type CommonOptions, type Verb } from './verb.ts';

interface DoctorOptions extends CommonOptions {
  readonly config?: string | undefined;
}

/** Lowest version of Node.js, as package.json says. */
export const wantedNode = '20.19';

export const doctorVerb: Verb<DoctorOptions> = {
  command: 'doctor',
  describe:
    'Look for what is wrong: Node, disk, ports, Temporal, engines, tools, token, clock, configuration',
  options: (yargs) =>
    yargs.option('config', {
      type: 'string',
      describe: 'the configuration file (default: FERMATA_CONFIG, then fermata.yaml if present)',
    }),
  async run(args, world) {
    const printer = printerOf(args.json, world);
    printer.progress('looking ...');
    const findings = await lookAround(args, world.environment);
    const faults = findings.filter(({ level }) => level === 'fault').length;
    printer.answer({ ok: faults === 0, findings }, () => findingText(findings, printer));
    return faults === 0 ? exitCodes.ok : exitCodes.failed;
  },
};

async function lookAround(
  args: DoctorOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly Finding[]> {
  let settings: Settings;
  try {
    settings = parseSettings(environment);
    const { examine } = await import('../doctor/examine.ts');
    const { temporalOf } = await import('../temporal-of.ts');
    const { readTemporalCluster } = await import('../../temporal/temporal-settings.ts');
    return await examine({
      settings,
      environment,
      where: readWhere(args, environment),
      doorNamed: args.url !== undefined || settings.mcpUrl !== null,
      temporal: temporalOf(environment),
      temporalNamed: readTemporalCluster(environment) !== null,
      configPath: args.config ?? settings.configPath,
      nodeVersion: process.versions.node,
      wantedNode,
      version: packageVersion,
    });
  } catch (error) {
    if (!(error instanceof SettingsFault) && !(error instanceof SetupFault)) throw error;
    return [fault('settings', error.message, 'set it as told, or unset it; the other checks wait for this')];
  }
}

const marks: Readonly<Record<Finding['level'], readonly [mark: string, style: Style]>> = {
  ok: ['ok     ', 'green'],
  note: ['note   ', 'dim'],
  warning: ['warning', 'yellow'],
  fault: ['FAULT  ', 'red'],
};

function findingText(findings: readonly Finding[], { style }: Printer): string {
  const lines = findings.flatMap(({ subject, level, says, remedy }) => {
    const [mark, colour] = marks[level];
    const first = `${style(colour, mark)} ${style('bold', subject)}: ${oneLine(says, 600)}`;
    return remedy === null ? [first] : [first, `        → ${remedy}`];
  });
  const faults = findings.filter(({ level }) => level === 'fault').length;
  return [...lines, '', faults === 0 ? 'nothing is wrong' : plural(faults, 'fault')].join('\n');
}

/** All checks of `fermata doctor`, side by side; each is bounded, and one that breaks is a finding itself. */
import type { Settings } from '../../contracts/settings.ts';
import type { Environment, Where } from '../server/where.ts';
import type { TemporalSettings } from '../../temporal/temporal-settings.ts';
import { checkClocks } from './clock-check.ts';
import { checkReplica, type Checked } from './engine-checks.ts';
import { fault, type Finding } from './finding.ts';
import { checkConfigFile, checkDisk, checkNode, statDisk, type StatDisk } from './local-checks.ts';
import { checkDoor, checkServices } from './service-checks.ts';
import { checkTemporal } from './temporal-checks.ts';
import { checkToolServers } from './tool-checks.ts';

export interface Examination {
  readonly settings: Settings;
  readonly environment: Environment;
  readonly where: Where;
  /** The mcp-server was named, so it must be there. */
  readonly doorNamed: boolean;
  readonly temporal: TemporalSettings;
  /** Temporal was named, so it must be there. */
  readonly temporalNamed: boolean;
  /** Path of the configuration file; null: `fermata.yaml` if there is one. */
  readonly configPath: string | null;
  readonly nodeVersion: string;
  readonly wantedNode: string;
  readonly version: string;
  readonly statDisk?: StatDisk;
}

export async function examine(of: Examination): Promise<readonly Finding[]> {
  const [file, disk, services] = await Promise.all([
    checkConfigFile(of.configPath),
    guarded('disk', async () => [await checkDisk(of.settings.stateDir, of.statDisk ?? statDisk)]),
    checkServices(of.settings),
  ]);
  const runs = services.running.length > 0;
  const askDoor = of.doorNamed || services.running.includes('mcp-server');
  const none: Checked = { findings: [], clocks: [] };
  const [temporal, tools, door, ...replicas] = await Promise.all([
    guarded(
      'temporal',
      async () =>
        await checkTemporal(of.temporal, {
          named: of.temporalNamed,
          needed: of.temporalNamed || runs,
          taskQueue: of.settings.taskQueue,
          deployment: of.settings.deployment,
        }),
    ),
    guarded('tool servers', async () => await checkToolServers(file.config?.tools.mcpServers ?? {})),
    askDoor ? checkDoor(of.where.url, of.where.token, of.version) : none,
    ...(file.config?.pool ?? []).map(async (replica) => await checkReplica(replica, of.environment)),
  ]);
  const checked = [services, door, ...replicas];
  return [
    checkNode(of.nodeVersion, of.wantedNode),
    ...disk,
    ...file.findings,
    ...services.findings,
    ...temporal,
    ...door.findings,
    ...replicas.flatMap(({ findings }) => findings),
    ...tools,
    ...checkClocks(checked.flatMap(({ clocks }) => clocks)),
  ];
}

async function guarded(
  subject: string,
  check: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [fault(subject, `the check itself failed: ${(error as Error).message}`, 'report this')];
  }
}

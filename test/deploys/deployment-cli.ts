/** Temporal's own command line as an operator uses it in a deploy; docs/deploys.md shows the same commands. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';

const runFile = promisify(execFile);

export interface OperatorCli {
  /**
   * `temporal ARGS`, as JSON where it prints any.
   * @throws with what the command printed when it fails.
   */
  run(...args: readonly string[]): Promise<unknown>;
  /** Makes a build the one that new runs go to. */
  setCurrent(deployment: string, buildId: string): Promise<void>;
  /** How many open runs a build has; those of a second ago may be missing. */
  openRuns(deployment: string, buildId: string): Promise<number>;
  /** Moves one run to a build, which it is pinned to from then on. */
  moveRun(handle: string, deployment: string, buildId: string): Promise<void>;
}

export function operatorCli(binary: string, address: string): OperatorCli {
  const run = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout } = await runFile(binary, [...args, '--address', address, '--output', 'json'], {
      timeout: 60_000,
    });
    try {
      return JSON.parse(stdout) as unknown;
    } catch {
      return null;
    }
  };
  return {
    run,
    async setCurrent(deployment, buildId) {
      const version = ['--deployment-name', deployment, '--build-id', buildId];
      await run('worker', 'deployment', 'set-current-version', ...version, '--yes');
    },
    async openRuns(deployment, buildId) {
      const query = `TemporalWorkerDeploymentVersion = '${deployment}:${buildId}' AND ExecutionStatus = 'Running'`;
      const counted = await run('workflow', 'count', '--query', query);
      return Number(z.object({ count: z.union([z.string(), z.number()]).default(0) }).parse(counted).count);
    },
    async moveRun(handle, deployment, buildId) {
      const override = '--versioning-override';
      const version = [`${override}-deployment-name`, deployment, `${override}-build-id`, buildId];
      await run(
        'workflow',
        'update-options',
        '--workflow-id',
        handle,
        `${override}-behavior`,
        'one_time',
        ...version,
      );
    },
  };
}

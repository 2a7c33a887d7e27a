/** Temporal's own command line as an operator uses it in a deploy; docs/deploys.md shows the same commands. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const runFile = promisify(execFile);

export interface OperatorCli {
  /**
   * `temporal ARGS`, as JSON where it prints any.
   * @throws with what the command printed when it fails.
   */
  run(...args: readonly string[]): Promise<unknown>;
  /** Makes a build the one that new runs go to. */
  setCurrent(deployment: string, buildId: string): Promise<void>;
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
    async moveRun(handle, deployment, buildId) {
      await run(
        ...['workflow', 'update-options', '--workflow-id', handle],
        ...['--versioning-override-behavior', 'one_time'],
        ...['--versioning-override-deployment-name', deployment],
        ...['--versioning-override-build-id', buildId],
      );
    },
  };
}

/** SGLang's router: cache-aware policy over the one engine, its log at `error`, everything else as it comes. */
import { join } from 'node:path';
import { findFreePort } from '../../../cli/setup/free-port.ts';
import { ensureVenv } from '../../../cli/setup/private-venv.ts';
import { startProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { StartArm } from './arm.ts';

const version = '0.3.2';

export const startSglangRouter: StartArm = async (site) => {
  const venv = await ensureVenv(
    site.toolsDir,
    {
      name: `sglang-router-${version}`,
      // The wheel asks for less than its launcher imports.
      installs: [
        ['--no-deps', `sglang-router==${version}`],
        ['setproctitle', 'fastapi', 'uvicorn', 'orjson', 'aiohttp', 'requests', 'psutil'],
      ],
      purpose: "SGLang's router",
    },
    site.progress,
  );
  const port = await findFreePort('127.0.0.1');
  const metricsPort = await findFreePort('127.0.0.1');
  const running = await startProcess({
    name: 'sglang-router',
    command: join(venv, 'bin', 'python'),
    args: ['-m', 'sglang_router.launch_router', '--host', '127.0.0.1', '--port', String(port)].concat(
      ['--worker-urls', site.engineUrl, '--policy', 'cache_aware', '--log-level', 'error'],
      ['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metricsPort)],
    ),
    environment: site.environment,
    workDir: site.workDir,
  });
  const target = { url: `http://127.0.0.1:${port}`, headers: {} };
  try {
    await untilAnswering(running, target);
  } catch (error) {
    await running.close();
    throw error;
  }
  return {
    name: 'sglang-router',
    target,
    processes: [running],
    version,
    close: async () => await running.close(),
  };
};

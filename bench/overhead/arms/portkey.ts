/**
 * Portkey's gateway on Node, without its console. It is told its upstream by headers of each request and
 * refuses a loopback address until that is trusted. With the `@hono/node-server` that npm
 * takes for it every stream fails (`TypeError: immutable`, their issue 1389), so it gets the version of their own
 * lock file.
 */
import { join } from 'node:path';
import { findFreePort } from '../../../cli/setup/free-port.ts';
import { ensureNpmPackage } from '../npm-package.ts';
import { startProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { StartArm } from './arm.ts';

const version = '1.15.2';
const serverVersion = '1.13.5';

export const startPortkey: StartArm = async (site) => {
  const folder = await ensureNpmPackage(
    site.toolsDir,
    {
      name: `portkey-${version}-${serverVersion}`,
      package: '@portkey-ai/gateway',
      version,
      overrides: { '@hono/node-server': serverVersion },
      purpose: 'Portkey',
    },
    site.progress,
  );
  const port = await findFreePort('127.0.0.1');
  const running = await startProcess({
    name: 'portkey',
    command: process.execPath,
    args: [
      join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js'),
      '--headless',
      `--port=${port}`,
    ],
    environment: { ...site.environment, NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    workDir: site.workDir,
  });
  const target = {
    url: `http://127.0.0.1:${port}`,
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${site.engineUrl}/v1` },
  };
  try {
    await untilAnswering(running, target);
  } catch (error) {
    await running.close();
    throw error;
  }
  return {
    name: 'portkey',
    target,
    processes: [running],
    version,
    close: async () => await running.close(),
  };
};

/** The commands of the guides, run as they stand against what `npm start` starts: simulated engines, the demo's tools. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startStack, type Stack } from '../../cli/embedded-stack.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { anyPort } from '../stack/start-test-stack.ts';

const root = resolve(import.meta.dirname, '..', '..');
const guides = join(root, 'docs', 'guides');
/** The longest has fourteen commands, each a process that loads everything. */
const scriptMs = 280_000;

/** What its commands must have printed, by guide; every guide has an entry. */
const shows: Readonly<Record<string, readonly string[]>> = {
  'first-ten-minutes.md': ['demo__lookup', 'Completed', 'run example-'],
  'own-loop.md': ['"id":"sim-small"', '"choices"', '"turns"', 'run run_'],
  'mcp-clients.md': ['demo__lookup'],
  'engines.md': ['"reportedTokens"'],
  'approvals-and-budgets.md': [
    'AwaitingApproval',
    'demo__delete_page',
    'Done.',
    'Completed',
    '"subtree"',
    '"reached":1',
  ],
  'production.md': ['ok'],
  'troubleshooting.md': ['"findings"', '"ready"', '"services"'],
  'how-admission-decides.md': ['"capacityReason"'],
  'high-availability.md': ['"ready":true'],
  'telemetry.md': [
    'fermata_proxy_link_up 1',
    'fermata_mcp_runs{status="completed"}',
    'fermata_scheduler_active 1',
  ],
  'temporal.md': ['"created":true', '"retentionHours":168', '"missing":[]'],
};

let stack: Stack;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-guides-'));
  await mkdir(join(folder, 'bin'));
  const command = join(folder, 'bin', 'fermata');
  await writeFile(
    command,
    `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'bin', 'fermata.mjs')}' "$@"\n`,
  );
  await chmod(command, 0o755);
  stack = await startStack({
    settings: parseSettings({
      ...anyPort,
      FERMATA_STATE_DIR: join(folder, 'state'),
      FERMATA_TASK_QUEUE: `test-${randomBytes(6).toString('hex')}`,
    }),
    environment: { PATH: process.env['PATH'] },
    temporal: { address: inject('temporalAddress'), namespace: 'default' },
    workflowBundle: { codePath: inject('workflowBundlePath') },
    config: null,
    engine: 'simulated',
    separate: false,
    logger: pino({ level: 'silent' }),
    progress: () => {},
  });
});
afterAll(async () => {
  await stack.close();
  await rm(folder, { recursive: true, force: true });
});

/** With the addresses of this stack in place of those that `npm start` has by default. */
function scriptOf(guide: string): string {
  const text = readFileSync(join(guides, guide), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return blocks
    .join('\n')
    .replaceAll('http://127.0.0.1:8080', stack.proxyUrl)
    .replaceAll('http://127.0.0.1:7000', new URL(stack.mcpUrl).origin)
    .replaceAll('http://127.0.0.1:5001', stack.schedulerUrl);
}

async function runScript(script: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: root,
    timeout: scriptMs,
    maxBuffer: 16 * 1024 * 1024,
    env: {
      PATH: [join(folder, 'bin'), dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOME: folder,
      FERMATA_MCP_URL: new URL(stack.mcpUrl).origin,
      FERMATA_PROXY_URL: stack.proxyUrl,
      FERMATA_SCHEDULER_URL: stack.schedulerUrl,
      FERMATA_STATE_DIR: join(folder, 'state'),
      TEMPORAL_ADDRESS: stack.temporal.address,
    },
  });
  return stdout + stderr;
}

describe('the commands of', () => {
  it.each(readdirSync(guides))(
    'docs/guides/%s do what it says',
    async (guide) => {
      const script = scriptOf(guide);
      expect(script).not.toBe('');
      const printed = await runScript(script);
      for (const words of shows[guide] ?? ['no entry in `shows`']) expect(printed).toContain(words);
    },
    scriptMs + 20_000,
  );
});

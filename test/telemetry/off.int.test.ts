/** What tracing costs where nobody asked for it: nothing is loaded, and nothing is in the way. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: readonly string[], environment: Record<string, string>): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (piece: Buffer) => (stdout += piece.toString('utf8')));
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString('utf8')));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, stdout, stderr };
}

/** Opens what a proxy opens, and says what of the SDK was loaded by that. */
const program = `
  import { createRequire } from 'node:module';
  import pino from 'pino';
  import { openTelemetry } from './telemetry/open-telemetry.ts';
  import { createProxy } from './proxy/create-proxy.ts';
  const logger = pino({ level: 'silent' });
  const telemetry = await openTelemetry(process.env, 'fermata-proxy', { logger });
  const proxy = await createProxy({ host: '127.0.0.1', port: 0, schedulerUrl: 'http://127.0.0.1:1' }, { logger, environment: {}, telemetry });
  await proxy.close();
  await telemetry?.close();
  const files = Object.keys(createRequire(process.cwd() + '/x.js').cache);
  const loaded = files.flatMap((file) => /@opentelemetry.(sdk|exporter|otlp|resources|core)[^/\\\\]*/.exec(file)?.[0] ?? []);
  console.log(JSON.stringify({ loaded: [...new Set(loaded)], traces: telemetry !== null }));
`;

it('without an endpoint no module of the SDK is loaded; with one it is', async () => {
  const inline = ['--input-type=module', '-e', program];
  const [off, on] = await Promise.all([
    run(inline, {}),
    run(inline, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }),
  ]);
  expect([off.code, off.stderr]).toEqual([0, '']);
  expect(JSON.parse(off.stdout)).toEqual({ loaded: [], traces: false });
  expect(JSON.parse(on.stdout)).toMatchObject({ traces: true });
  expect(on.stdout).toContain('sdk-trace');
});

it('a wrong endpoint is one line, and the service does not start', async () => {
  const ended = await run(['proxy/main.ts'], {
    FERMATA_PROXY_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
  });
  expect(ended.code).toBe(1);
  expect(ended.stdout).not.toContain('is ready');
  const lines = ended.stderr.trim().split('\n');
  expect(lines.at(-1)).toBe(
    "OTEL_EXPORTER_OTLP_ENDPOINT: got 'collector:4318', expected an address such as http://127.0.0.1:4318",
  );
});

const folders = [
  'telemetry',
  'proxy',
  'activities',
  'mcp-server',
  'scheduler',
  'workflows',
  'auth',
  'config',
  'contracts',
  'cli',
];

function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

it('OpenTelemetry is imported by two files only, which are loaded on demand', () => {
  const importing = (pattern: RegExp): string[] =>
    folders
      .flatMap(filesOf)
      .filter((file) => pattern.test(readFileSync(file, 'utf8')))
      .map((file) => file.slice(root.length + 1))
      .toSorted();
  expect(importing(/from '@opentelemetry\//)).toEqual([
    'telemetry/bounded-export.ts',
    'telemetry/otel-telemetry.ts',
  ]);
  expect(
    importing(/^import (?!type)[^;]*from '[^']*(otel-telemetry|bounded-export|trace-worker)\.ts'/m),
  ).toEqual(['telemetry/otel-telemetry.ts']);
});

/** A full server whose frontend asks for certificates, made ready by `fermata setup temporal` and used by everything. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createWorker } from '../../activities/create-worker.ts';
import { readTemporalSettings } from '../../temporal/temporal-settings.ts';
import { createCertificateAuthority } from '../../testkit/temporal-cluster/certificates.ts';
import { startClusterServer, type ClusterServer } from '../../testkit/temporal-cluster/server.ts';
import { runInProcess } from '../cli/run-in-process.ts';
import { connectClient } from '../mcp-server/mcp-clients.ts';
import { startStack, type Stack } from '../mcp-server/stack.ts';

const name = 'frontend.temporal.internal';

let folder: string;
let server: ClusterServer;
let stack: Stack;
let environment: Record<string, string>;

beforeAll(async () => {
  const cluster = inject('temporalCluster');
  if (cluster === null) throw new Error('run by npm run test:cluster alone');
  folder = await mkdtemp(join(tmpdir(), 'fermata-mutual-'));
  const ca = await createCertificateAuthority('cluster');
  const files = new Map<string, string>();
  const write = async (file: string, text: string): Promise<void> => {
    files.set(file, join(folder, file));
    await writeFile(join(folder, file), text, { mode: 0o600 });
  };
  await write('ca.pem', ca.cert);
  for (const [who, names] of [
    ['server', [name]],
    ['inner', ['inner']],
    ['client', ['client']],
  ] as const) {
    const { cert, key } = await ca.sign(who, names);
    await write(`${who}.pem`, cert);
    await write(`${who}-key.pem`, key);
  }
  const path = (file: string): string => files.get(file) ?? '';
  server = await startClusterServer({
    ...cluster,
    name: 'mutual',
    folder,
    tls: {
      caFile: path('ca.pem'),
      certFile: path('server.pem'),
      keyFile: path('server-key.pem'),
      serverName: name,
      clientCertFile: path('inner.pem'),
      clientKeyFile: path('inner-key.pem'),
    },
  });
  environment = {
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_NAMESPACE: 'agents',
    TEMPORAL_TLS_SERVER_NAME: name,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: path('ca.pem'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: path('client.pem'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: path('client-key.pem'),
  };
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
});
afterAll(async () => {
  await stack?.close();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a cluster with mutual TLS', () => {
  it('is prepared by the command line, twice with the same result', async () => {
    const words = ['setup', 'temporal', '--create-namespace', '--retention', '7d'];
    const first = await runInProcess(words, { environment });
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(first.stdout)).toMatchObject({
      namespace: 'agents',
      created: true,
      retentionHours: 168,
      missing: [],
    });
    const second = await runInProcess(words, { environment });
    expect(JSON.parse(second.stdout)).toMatchObject({
      created: false,
      retentionHoursBefore: null,
      added: [],
    });
    const changed = await runInProcess(['setup', 'temporal', '--retention', '48h'], { environment });
    expect(JSON.parse(changed.stdout)).toMatchObject({ retentionHours: 48, retentionHoursBefore: 168 });
    expect(JSON.parse(changed.stdout).warning).toMatch(/48 h only/);
    const found = JSON.parse((await runInProcess(['doctor'], { environment })).stdout).findings;
    expect(found).toContainEqual(
      expect.objectContaining({ subject: 'temporal', level: 'ok', says: expect.stringContaining('agents') }),
    );
    expect(found).toContainEqual(
      expect.objectContaining({ level: 'warning', remedy: expect.stringContaining('--retention 72h') }),
    );
  });

  it('carries runs out', async () => {
    const temporal = readTemporalSettings(environment, 'unused');
    const logger = pino({ level: 'silent' });
    const worker = await createWorker({ ...stack.workerConfig, temporal }, { logger });
    const mcp = await stack.startServer({ temporal });
    const client = await connectClient('modern', `${mcp.url}/mcp`);
    const { structured } = await client.call('spawn', { task: stack.lookingUp('behind the door') });
    const awaited = await client.call('await', { handles: [structured['handle']] });
    expect(awaited.structured).toMatchObject({ done: true, runs: [{ result: 'behind the door' }] });
    await client.close();
    await mcp.close();
    await worker.close();
  });

  it('names what is wrong where the certificate is none of its own, or is missing', async () => {
    const others = await createCertificateAuthority('others');
    const stranger = await others.sign('client', ['client']);
    await writeFile(join(folder, 'stranger.pem'), stranger.cert);
    await writeFile(join(folder, 'stranger-key.pem'), stranger.key);
    const { TEMPORAL_TLS_CLIENT_CERT_PATH: _cert, TEMPORAL_TLS_CLIENT_KEY_PATH: _key, ...bare } = environment;
    for (const [wrong, says] of [
      [bare, /may want a certificate of the client|TEMPORAL_TLS_CLIENT_CERT_PATH/],
      [
        {
          ...environment,
          TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'stranger.pem'),
          TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'stranger-key.pem'),
        },
        /refuses the client's certificate/,
      ],
      [{ ...environment, TEMPORAL_TLS_SERVER_NAME: 'other' }, /certificate is not for 'other'/],
    ] as const) {
      const ended = await runInProcess(['setup', 'temporal', '--check'], { environment: wrong });
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toMatch(says);
    }
  });
});

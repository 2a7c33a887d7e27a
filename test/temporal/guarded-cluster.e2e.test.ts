/** A Temporal that is reached over mutual TLS and with an API key, as every process is told by its environment. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createWorker } from '../../activities/create-worker.ts';
import { readTemporalSettings } from '../../temporal/temporal-settings.ts';
import { createCertificateAuthority } from '../../testkit/temporal-cluster/certificates.ts';
import { startGuardedFront, type GuardedFront } from '../../testkit/temporal-cluster/guarded-front.ts';
import type { Ended } from '../cli/run-fermata.ts';
import { runInProcess } from '../cli/run-in-process.ts';
import { connectClient } from '../mcp-server/mcp-clients.ts';
import { startStack, type Stack } from '../mcp-server/stack.ts';
import { startService } from '../service-process.ts';

let folder: string;
let front: GuardedFront;
let stack: Stack;
/** What an operator sets. */
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-guarded-'));
  const ca = await createCertificateAuthority('cluster');
  const certificate = await ca.sign('frontend', ['temporal.internal']);
  const client = await ca.sign('fermata', ['fermata']);
  front = await startGuardedFront({
    upstream: inject('temporalAddress'),
    tls: { certificate, clientCa: ca.cert },
    apiKey: 'right',
  });
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  environment = {
    TEMPORAL_ADDRESS: front.address,
    TEMPORAL_NAMESPACE: 'default',
    TEMPORAL_API_KEY: 'right',
    TEMPORAL_TLS_SERVER_NAME: 'temporal.internal',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: await write('ca.pem', ca.cert),
    TEMPORAL_TLS_CLIENT_CERT_PATH: await write('client.pem', client.cert),
    TEMPORAL_TLS_CLIENT_KEY_PATH: await write('client-key.pem', client.key),
  };
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  // Its worker goes in without asking: one that must show key and certificate takes its place.
  await stack.worker.close();
});
afterAll(async () => {
  await stack?.close();
  await front?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('over mutual TLS and with an API key', () => {
  it('runs are spawned, carried out and awaited', async () => {
    const temporal = readTemporalSettings(environment, 'unused');
    const worker = await createWorker(
      { ...stack.workerConfig, temporal },
      { logger: pino({ level: 'silent' }) },
    );
    const server = await stack.startServer({ temporal });
    const client = await connectClient('modern', `${server.url}/mcp`);
    const { structured } = await client.call('spawn', { task: stack.lookingUp('behind the door') });
    const awaited = await client.call('await', { handles: [structured['handle']] });
    expect(awaited.structured).toMatchObject({ done: true, runs: [{ result: 'behind the door' }] });
    expect([...front.keysSeen]).toEqual(['Bearer right']);
    await client.close();
    await server.close();
    await worker.close();
  });

  it('the command line prepares the namespace, and finds nothing wrong with it', async () => {
    const set = await runInProcess(['setup', 'temporal'], { environment });
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(set.stdout)).toMatchObject({ namespace: 'default', added: [], missing: [] });
  });

  it('a wrong key ends each process, or its call, with one line that names it', async () => {
    const wrong = { ...environment, TEMPORAL_API_KEY: 'wrong' };
    const words = /refuses the API key \(TEMPORAL_API_KEY\)/;
    const set = await runInProcess(['setup', 'temporal'], { environment: wrong });
    expect(set).toMatchObject({ code: 1, stdout: '' });
    expect(set.stderr).toMatch(words);
    expect(set.stderr.trim().split('\n')).toHaveLength(1);
    const quiet = { ...wrong, FERMATA_LOG_LEVEL: 'silent' };
    const [worker, mcp] = await Promise.all([
      startService('activities/main.ts', {
        ...quiet,
        FERMATA_WORKER_PORT: '0',
        FERMATA_STATE_DIR: folder,
      }).catch((error: unknown) => String(error)),
      startService('mcp-server/main.ts', { ...quiet, FERMATA_MCP_PORT: '0' }),
    ]);
    try {
      expect(worker).toMatch(words);
      const ready = await fetch(`${mcp.url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.text()).toMatch(words);
    } finally {
      await mcp.kill();
    }
  });

  it('a namespace that is not there is named, with the command that makes one', async () => {
    const wrong = { ...environment, TEMPORAL_NAMESPACE: 'nowhere' };
    const set = await runInProcess(['setup', 'temporal', '--check'], { environment: wrong });
    expect(set).toMatchObject({ code: 1, stdout: '' });
    expect(set.stderr).toMatch(/no namespace 'nowhere' .*fermata setup temporal --create-namespace/);
    const temporal = readTemporalSettings(wrong, 'unused');
    await expect(
      createWorker({ ...stack.workerConfig, temporal }, { logger: pino({ level: 'silent' }) }),
    ).rejects.toThrow(/no namespace 'nowhere'/);
  });
});

describe('without the right to use the operator API, as on Temporal Cloud', () => {
  let closed: GuardedFront;
  beforeAll(async () => {
    closed = await startGuardedFront({
      upstream: inject('temporalAddress'),
      tls: null,
      apiKey: null,
      closed: '/temporal.api.operatorservice.v1.',
    });
  });
  afterAll(async () => {
    await closed.close();
  });

  it('the search attributes are found by queries', async () => {
    const set = await runInProcess(['setup', 'temporal', '--check'], {
      environment: { TEMPORAL_ADDRESS: closed.address },
    });
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(set.stdout).present).toHaveLength(5);
  });

  it('those that are missing are named, with what to ask the operator for', async () => {
    const namespace = `closed-${randomUUID()}`;
    const set = async (...words: readonly string[]): Promise<Ended> =>
      await runInProcess(['setup', 'temporal', '--namespace', namespace, ...words], {
        environment: { TEMPORAL_ADDRESS: closed.address },
      });
    const refused = await set('--create-namespace');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      new RegExp(
        `add no search attributes to namespace '${namespace}', and FermataStatus, .* are missing; ask its operator .*temporal operator search-attribute create --namespace ${namespace} --name FermataStatus --type Keyword`,
      ),
    );
    const checked = await set('--check');
    expect(checked).toMatchObject({ code: 1 });
    expect(JSON.parse(checked.stdout)).toMatchObject({ present: [], retentionHours: 72 });
    expect(JSON.parse(checked.stdout).missing).toHaveLength(5);
  });
});

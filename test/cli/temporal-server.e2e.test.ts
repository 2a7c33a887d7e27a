import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTemporalServer, stopLeftover } from '../../cli/temporal-server.ts';
import { searchAttributes } from '../../contracts/run.ts';

describe('the embedded Temporal server', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fermata-temporal-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const start = (databaseFile: string): ReturnType<typeof startTemporalServer> =>
    startTemporalServer({
      binary: inject('temporalBinary'),
      host: '127.0.0.1',
      port: 0,
      uiPort: null,
      databaseFile,
    });

  it('keeps workflows and search attributes over a kill and a second start on the same file', async () => {
    const databaseFile = join(folder, 'kept.db');
    const first = await start(databaseFile);
    const caller = defineSearchAttributeKey(searchAttributes.caller, 'KEYWORD');
    const connection = await Connection.connect({ address: first.address });
    await new Client({ connection }).workflow.start('never-polled', {
      workflowId: 'kept',
      taskQueue: 'nobody',
      typedSearchAttributes: [{ key: caller, value: 'somebody' }],
    });
    await connection.close();
    process.kill(first.pid, 'SIGKILL');
    await first.exited;

    const second = await start(databaseFile);
    const again = await Connection.connect({ address: second.address });
    const description = await new Client({ connection: again }).workflow.getHandle('kept').describe();
    await again.close();
    await second.close();
    expect(description.status.name).toBe('RUNNING');
    expect(description.typedSearchAttributes.get(caller)).toBe('somebody');
  });

  it('ends a server that a killed parent left on the database file, and nothing else', async () => {
    const databaseFile = join(folder, 'leftover.db');
    const server = await start(databaseFile);
    expect(await stopLeftover(join(folder, 'another.db'))).toBe(false);
    expect(await stopLeftover(databaseFile)).toBe(true);
    await server.exited;
    expect(await stopLeftover(databaseFile)).toBe(false);
  });

  it('does not take a server of somebody else on its port for its own', async () => {
    const taken = await start(join(folder, 'taken.db'));
    const port = Number(taken.address.split(':')[1]);
    const failure = startTemporalServer({
      binary: inject('temporalBinary'),
      host: '127.0.0.1',
      port,
      uiPort: null,
      databaseFile: join(folder, 'second.db'),
    });
    await expect(failure).rejects.toThrow(/port \d+ \(FERMATA_TEMPORAL_PORT\) is in use/);
    await taken.close();
  });
});
